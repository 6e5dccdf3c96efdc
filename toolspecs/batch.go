package toolspecs

import (
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

const (
	batchPath = "$.batch"
	maxBatch  = 1000
)

// batch checks the batch section of a spec.
func (c *checker) batch(s Spec) {
	if s.Batch == nil {
		return
	}
	c.batchedCalls(s)
	if s.Batch.Max < 2 || s.Batch.Max > maxBatch {
		c.Add(batchPath+".max", "", "max %d is not between 2 and %d", s.Batch.Max, maxBatch)
	}
	c.batchArgument(s)
	if s.Output != nil && s.Output.Type != schemas.TypeArray {
		c.Add(batchPath, "declare the output as an array with one element for each",
			"the output is declared as %s, but a batched call returns an array", s.Output.Type)
	}
}

// batchedCalls checks that calls of the tool can be batched.
func (c *checker) batchedCalls(s Spec) {
	switch {
	case s.Entry.Type != "" && !takesSlots(s.Entry):
		what, hint := withoutSlots(s.Entry, "remove it")
		c.AddKey(batchPath, hint, "calls of %s cannot be batched; batch is for %s", what,
			strings.Join(slotKinds(), ", "))
	case s.Execution.Lane == api.LaneInline:
		c.AddKey(batchPath, "remove it, or name another lane",
			"calls on the lane inline cannot be batched")
	case s.Entry.AnswerWithin > 0:
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
		declared = schemas.ShapeOf(schemas.Decoded(s.InputSchema), "")
	}
	name := s.Batch.Argument
	switch argument := declared.Property(name); {
	case name == "":
		c.Add(batchPath, "write argument: and the name of the parameter that holds the list",
			"batch names no argument")
	case !declared.Has(name):
		c.Add(batchPath+".argument", spelling.Hint(name, declared.Declared()),
			"the tool has no parameter %q", name)
	case argument != nil && !argument.Only(schemas.TypeArray):
		c.Add(batchPath+".argument", "name a parameter of the type array", "%s is no list", name)
	}
}
