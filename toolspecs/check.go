package toolspecs

import (
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// Bounds of what models are shown of a tool, in bytes.
const (
	maxDescription = 32 << 10
	maxSchema      = 256 << 10
)

// checker collects the faults of a spec that its struct tags (types and bounds) do not detect.
type checker struct {
	strictyaml.Findings
	checked checkedSchemas
}

// checkedSchemas are the schemas of a spec as its check has compiled them; nil for those that the
// spec does not declare as JSON Schema. Compiling a schema costs more than all else that is done
// with a toolspec.
type checkedSchemas struct{ input, output *schemas.Form }

// spec checks a spec with defaults filled in.
func (c *checker) spec(s Spec) {
	if s.Name != "" {
		if err := api.CheckToolName(s.Name); err != nil {
			c.Add("$.name", "", "%v", err)
		}
	}
	c.approval(s)
	c.checkPolicies(s)
	c.arguments(s)
	c.executionPlan(s)
	c.output(s)
	c.entry(s)
	c.execution(s.Execution)
	c.inline(s)
	c.byRun(s)
	c.batch(s)
}

func (c *checker) arguments(s Spec) {
	if len(s.Description) > maxDescription {
		c.Add("$.description", "write a shorter one",
			"the description has %d bytes, and models may be shown %d", len(s.Description),
			maxDescription)
	}
	if len(s.InputSchema) > maxSchema {
		c.AddKey("$.input_schema", "leave out descriptions or nested values",
			"the schema has %d bytes, and models may be shown %d", len(s.InputSchema), maxSchema)
		return
	}
	if s.InputSchema == nil {
		c.parameters("$.parameters", s.Parameters)
		return
	}
	if len(s.Parameters) > 0 {
		c.AddKey("$.input_schema", "keep one of them",
			"a tool has either parameters or input_schema, not both")
	}
	c.checked.input = schemas.Check(&c.Findings, "$.input_schema", s.InputSchema, true)
}

func (c *checker) output(s Spec) {
	if s.Output != nil && s.OutputSchema != nil {
		c.AddKey("$.output_schema", "keep one of them",
			"a tool has either output or output_schema, not both")
	}
	if s.OutputSchema != nil {
		c.checked.output = schemas.Check(&c.Findings, "$.output_schema", s.OutputSchema, false)
	}
	if s.Output != nil {
		c.checkUnnamed("$.output", *s.Output)
	}
}

func (c *checker) execution(e ExecutionSpec) {
	if e.Effect == api.EffectOnce && e.Retry.MaxAttempts > 1 {
		c.Add("$.execution.retry.max_attempts",
			"remove it, or say effect: idempotent or read where that is true",
			"a tool whose effect is once has one attempt, not %d", e.Retry.MaxAttempts)
	}
	if e.Retry.MaxInterval < e.Retry.InitialInterval {
		c.Add("$.execution.retry.max_interval", "",
			"max_interval %s is less than initial_interval %s", e.Retry.MaxInterval,
			e.Retry.InitialInterval)
	}
}

// surroundings checks what depends on more than the spec: existing lanes and handlers.
func (c *checker) surroundings(s Spec, o Options) {
	c.lane(s, o.KnownLanes())
	c.handler(s.Entry, o)
}

const batchPath = "$.batch"

// batch checks the batch section of a spec.
func (c *checker) batch(s Spec) {
	if s.Batch == nil {
		return
	}
	c.batchedCalls(s)
	c.batchArgument(s)
	if s.Output != nil && s.Output.Type != schemas.TypeArray {
		c.Add(batchPath, "declare the output as an array with one element for each",
			"the output is declared as %s, but a batched call returns an array", s.Output.Type)
	}
}

// batchedCalls checks that calls of the tool can be batched.
func (c *checker) batchedCalls(s Spec) {
	switch {
	case s.Entry.Type() != "" && !s.Entry.takesSlots():
		what, hint := withoutSlots(s.Entry, "remove it")
		c.AddKey(batchPath, hint, "calls of %s cannot be batched; batch is for %s", what,
			strings.Join(slotKinds(), ", "))
	case s.Execution.Lane == api.LaneInline:
		c.AddKey(batchPath, "remove it, or name another lane",
			"calls on the lane inline cannot be batched")
	case s.Entry.Common().AnswerWithin > 0:
		c.AddKey(batchPath, "remove it, or answer_within",
			"calls that can ask a person cannot be batched")
	case s.Verify != nil:
		c.AddKey(batchPath, "remove it, or verify",
			"the outcome of one call of a batch cannot be verified")
	}
}

// batchArgument checks that the list argument of a batch is declared.
func (c *checker) batchArgument(s Spec) {
	declared := shapeOfParameters(s.Parameters, nil, schemas.TypeObject)
	if s.InputSchema != nil {
		declared = schemas.ShapeFromSchema(schemas.Decode(s.InputSchema), "")
	}
	name := s.Batch.Argument
	switch argument := declared.Property(name); {
	case name == "":
	case !declared.Has(name):
		c.Add(batchPath+".argument", spelling.Hint(name, declared.PropertyNames()),
			"the tool has no parameter %q", name)
	case argument != nil && !argument.Only(schemas.TypeArray):
		c.Add(batchPath+".argument", "name a parameter of the type array", "%s is no list", name)
	}
}

// handler checks that the worker registers what the entry names.
func (c *checker) handler(e Entry, o Options) {
	if k, ok := e.Kind.(handled); ok {
		k.checkHandler(c, o)
	}
}
