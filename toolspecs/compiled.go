package toolspecs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// Compiled is a toolspec ready for use. It is immutable and safe for concurrent use.
type Compiled struct {
	// Spec has all its defaults filled in.
	Spec Spec
	// Digest identifies the spec's content.
	Digest string

	json        json.RawMessage
	inputJSON   json.RawMessage
	outputJSON  json.RawMessage
	modelJSON   json.RawMessage
	input       *schemas.Form
	output      *schemas.Form
	inputShape  *schemas.Shape
	outputShape *schemas.Shape
	// sensitive are the parameters that are or contain sensitive values; mask and outputMask locate
	// these values.
	sensitive        []string
	mask, outputMask *redaction.Mask
	// approvalWhen is the condition under which calls wait for approval; nil if all or none wait.
	approvalWhen *policies.Condition
	emissions    *policies.Emissions
}

// Compile fills in defaults, runs the same checks as decoding a file, and compiles the schemas. The
// error is Faults, with the tool's name and paths in the spec in place of a file and lines. It does
// not check lanes and handlers.
func (s Spec) Compile() (*Compiled, error) {
	s = s.withDefaults()
	faults, checked := s.faults()
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return s.compile(checked)
}

// compile compiles a spec with defaults and without faults.
func (s Spec) compile(checked checkedSchemas) (*Compiled, error) {
	data, err := canonicalSpec(s)
	if err != nil {
		return nil, fmt.Errorf("toolspec %q: %w", s.Name, err)
	}
	digest, err := digestOfSpec(s, data)
	if err != nil {
		return nil, fmt.Errorf("toolspec %q: %w", s.Name, err)
	}
	c := &Compiled{Spec: s, Digest: digest, json: data}
	if err := c.compileInput(checked.input); err != nil {
		return nil, fmt.Errorf("toolspec %q: input schema: %w", s.Name, err)
	}
	if err := c.compileOutput(checked.output); err != nil {
		return nil, fmt.Errorf("toolspec %q: output schema: %w", s.Name, err)
	}
	if c.emissions, err = policies.CompileEmissions(s.Emits); err != nil {
		return nil, fmt.Errorf("toolspec %q: %w", s.Name, err)
	}
	if err := c.compileApproval(); err != nil {
		return nil, fmt.Errorf("toolspec %q: approval: %w", s.Name, err)
	}
	return c, nil
}

func (s Spec) faults() (Faults, checkedSchemas) {
	var faults Faults
	add := func(path, message, hint string) {
		faults = append(faults, s.fault(path, message,
			hint))
	}
	for _, p := range strictyaml.Check(s) {
		add(p.Path, p.Message, p.Hint)
	}
	for _, p := range strictyaml.Check(retryFile(s.Execution.Retry)) {
		add("$.execution.retry"+p.Path[len(jsonpath.Root):], p.Message, p.Hint)
	}
	c := checker{}
	c.spec(s)
	return append(faults, c.faults(s)...), c.checked
}

// faults returns the findings of a spec that does not come from a file.
func (c *checker) faults(s Spec) Faults {
	var faults Faults
	for _, f := range c.All {
		faults = append(faults, s.fault(f.Path, f.Message, f.Hint))
	}
	return faults
}

func (c *Compiled) compileInput(checked *schemas.Form) error {
	raw := c.Spec.InputSchema
	if raw == nil {
		raw = schemas.Encode(schemaOfParameters(c.Spec.Parameters, nil))
		c.inputShape = shapeOfParameters(c.Spec.Parameters, nil, schemas.TypeObject)
	}
	var err error
	if c.input, c.inputJSON, err = schemas.Compile(raw, c.inputShape, checked); err != nil {
		return err
	}
	c.inputShape = c.input.Shape()
	if c.Spec.Entry.Common().ServerDefaults && c.Spec.InputSchema != nil {
		// The server fills them in, and models read them in the schema.
		c.inputShape.DropDefaults()
	}
	for _, name := range c.inputShape.PropertyNames() {
		if c.inputShape.Property(name).Hides() {
			c.sensitive = append(c.sensitive, name)
		}
	}
	c.mask = c.inputShape.Mask()
	return c.compilePlan()
}

func (c *Compiled) compileOutput(checked *schemas.Form) error {
	raw := c.Spec.OutputSchema
	if c.Spec.Output != nil {
		raw = schemas.Encode(schemaOfParameter(*c.Spec.Output))
		c.outputShape = shapeOfParameter(*c.Spec.Output)
	}
	if raw == nil {
		return nil
	}
	var err error
	if c.output, c.outputJSON, err = schemas.Compile(raw, c.outputShape,
		checked); err != nil {
		return err
	}
	c.outputShape = c.output.Shape()
	c.outputMask = c.outputShape.Mask()
	return nil
}

// InputSchema returns the JSON Schema of the tool's arguments.
func (c *Compiled) InputSchema() json.RawMessage { return bytes.Clone(c.inputJSON) }

// OutputSchema returns the JSON Schema of the result; nil if the spec declares none.
func (c *Compiled) OutputSchema() json.RawMessage { return bytes.Clone(c.outputJSON) }

// Tool returns the facts that a run pins.
func (c *Compiled) Tool() api.Tool {
	e, entry := c.Spec.Execution, c.Spec.Entry.Common()
	t := api.Tool{
		Name:         c.Spec.Name,
		Version:      c.Spec.Version,
		Digest:       c.Digest,
		Status:       c.Spec.Status,
		Dispatch:     c.Dispatch(),
		Lane:         e.Lane,
		Access:       e.Access,
		Effect:       e.Effect,
		Priority:     e.Priority,
		Timeout:      e.Timeout,
		QueueTimeout: e.QueueTimeout,
		Heartbeat:    e.Heartbeat,
		Retry:        e.Retry,
		AnswerWithin: entry.AnswerWithin,
		OnLoss:       entry.Instance.OnLoss,
		IdleTimeout:  entry.Instance.IdleTimeout,
		Closes:       entry.Instance.Closes,
		Undo:         c.Spec.Undo,
		Verify:       c.Spec.Verify,
		Batch:        c.Spec.Batch,
		Emits:        c.emissions.Labels(),
		Sensitive:    append([]string(nil), c.sensitive...),
		OutputMask:   c.outputMask,
		Spec:         bytes.Clone(c.json),
	}
	if k := c.Spec.instanceKind(); k != nil {
		t.Instance, t.HostWithin = k.instance(), k.hostWithin(e.Lane)
		if entry.Instance.Scope == api.ScopeConversation {
			t.Scope = api.ScopeConversation
		}
	}
	if c.mask.IsDeep() {
		t.Mask = c.mask
	}
	if t.Dispatch == api.DispatchQuestion {
		t.OutputSchema = c.OutputSchema()
	}
	return t
}

// Dispatch returns how runs execute calls of the tool.
func (c *Compiled) Dispatch() api.Dispatch { return c.Spec.Entry.Kind.dispatch() }

// FromTool compiles the tool that a run has pinned. It returns an error if the pinned spec cannot
// be decoded or does not match its digest: it was altered, or written by a version with more
// fields.
func FromTool(t api.Tool) (*Compiled, error) {
	var s Spec
	if err := json.Unmarshal(t.Spec, &s); err != nil {
		return nil, fmt.Errorf("the pinned spec of tool %q: %w", t.Name, err)
	}
	c, err := s.Compile()
	if err != nil {
		return nil, fmt.Errorf("the pinned spec of tool %q: %w", t.Name, err)
	}
	if c.Digest != t.Digest {
		return nil, fmt.Errorf(
			"the pinned spec of tool %q has the digest %s, not %s; was it written by another version of Switchyard?",
			t.Name, c.Digest, t.Digest)
	}
	return c, nil
}

// Mask returns the sensitive parts of the arguments; nil for none.
func (c *Compiled) Mask() *redaction.Mask { return c.mask }

// CheckOutput returns the violations of the declared output in a result; nil if no output is
// declared.
func (c *Compiled) CheckOutput(value json.RawMessage) []api.Problem {
	if c.output == nil {
		return nil
	}
	return c.output.Check(value)
}

// canonicalSpec returns the JSON of a spec: fields in their declared order, keys within schemas and
// defaults as written. Decoding and encoding it again gives the same bytes.
func canonicalSpec(s Spec) (json.RawMessage, error) {
	data, err := jsonvalue.Encode(s)
	if err != nil {
		return nil, err
	}
	return jsontext.Compact(data)
}

// digestOfSpec returns the digest of a spec whose JSON is data.
func digestOfSpec(s Spec, data json.RawMessage) (string, error) {
	k, ok := s.Entry.Kind.(digestSplitter)
	if !ok {
		return api.Digest(data), nil
	}
	rest, part := k.splitForDigest()
	if part == nil {
		return api.Digest(data), nil
	}
	s.Entry.Kind = rest
	plain, err := canonicalSpec(s)
	if err != nil {
		return "", err
	}
	apart, err := jsonvalue.Encode(part)
	if err != nil {
		return "", err
	}
	apart, err = jsontext.Compact(apart)
	return api.Digest(append(plain, apart...)), err
}

// Arguments validates the arguments of a call and returns them as compact JSON: declared arguments
// in their declared order, then others sorted, with defaults filled in at any depth. Empty text is
// an empty object. problems lists at most 100 violations and a last entry that counts the rest;
// with any, there are no arguments. notes describe dropped or converted values.
//
// mode decides how undeclared arguments and quoted numbers are treated; empty uses the spec's mode,
// whose default is strict.
func (c *Compiled) Arguments(text string, mode api.Mode) (args json.RawMessage, notes []string,
	problems []api.Problem) {
	return c.input.Arguments(text, cmp.Or(mode, c.Spec.Execution.Arguments) == api.ModeLenient)
}
