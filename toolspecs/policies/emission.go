package policies

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Emission is a label of a tool's results.
type Emission struct {
	Label string `json:"label" yaml:"label" rule:"required" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$ %q cannot be a label" hint:"use up to 64 letters, digits, _, - and .; the first one a letter or digit"`
	// When is a CEL expression over args and result; empty for all results. The label also counts
	// if the expression cannot be evaluated.
	When string `json:"when,omitempty" yaml:"when"`
}

// MarshalJSON writes an emission of all results as its label.
func (e Emission) MarshalJSON() ([]byte, error) {
	if e.When == "" {
		return jsonvalue.Encode(e.Label)
	}
	type plain Emission
	return jsonvalue.Encode(plain(e))
}

// UnmarshalJSON reads both forms.
func (e *Emission) UnmarshalJSON(data []byte) error {
	if *e = (Emission{}); len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &e.Label)
	}
	type plain Emission
	return json.Unmarshal(data, (*plain)(e))
}

// nameResult is the output of the call in expressions of emissions.
const nameResult = "result"

// maxEmissions bounds the labels that a tool emits, and those that it clears.
const maxEmissions = 50

// resultEnvironment is the environment of expressions over the arguments and the result of a call.
var resultEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.OptionalTypes(),
		cel.Variable(nameArgs, cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable(nameResult, cel.DynType),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(maxDepth),
		cel.RegexProgramSizeLimit(maxRegex),
	)
})

// Emissions are the compiled emissions of a tool. A nil one emits nothing.
type Emissions struct {
	list       []Emission
	conditions []*Condition
}

// CompileEmissions compiles the conditions of emissions. The error is a *Fault, the first one.
func CompileEmissions(list []Emission) (*Emissions, error) {
	e := &Emissions{list: list, conditions: make([]*Condition, len(list))}
	env, err := resultEnvironment()
	for i, one := range list {
		if one.When != "" && err == nil {
			e.conditions[i], err = compileBool(&scope{env: env}, one.When)
		}
	}
	return e, err
}

// Labels returns the labels, each once, in order.
func (e *Emissions) Labels() []string {
	if e == nil {
		return nil
	}
	return labelsIn(e.list)
}

// labelsIn returns the labels of emissions, each once, in order.
func labelsIn(list []Emission) (labels []string) {
	for _, one := range list {
		if !slices.Contains(labels, one.Label) {
			labels = append(labels, one.Label)
		}
	}
	return labels
}

// NotEmitted returns the labels that a result with these arguments does not have: all conditions of
// the label are false.
func (e *Emissions) NotEmitted(args, result json.RawMessage) []string {
	if e == nil || !slices.ContainsFunc(e.conditions, func(c *Condition) bool { return c != nil }) {
		return nil
	}
	facts := emissionFacts{args: args, result: result}
	var emitted []string
	for i, one := range e.list {
		if c := e.conditions[i]; c == nil || facts.holds(c) {
			emitted = append(emitted, one.Label)
		}
	}
	return slices.DeleteFunc(e.Labels(),
		func(label string) bool { return slices.Contains(emitted, label) })
}

// emissionFacts are the facts of a call, decoded when they are first needed.
type emissionFacts struct {
	args, result json.RawMessage
	values       map[string]any
}

// holds reports whether a condition is true or cannot be evaluated.
func (f *emissionFacts) holds(c *Condition) bool {
	if f.values == nil {
		f.values = map[string]any{}
		for name, data := range map[string]json.RawMessage{nameArgs: f.args, nameResult: f.result} {
			if len(data) == 0 && name == nameArgs {
				data = []byte("{}")
			}
			value, err := jsonvalue.Decode(data)
			if err != nil {
				return true
			}
			f.values[name] = c.adapt.NativeToValue(celNumbers(value))
		}
	}
	if len(f.values) < 2 {
		return true // one of them could not be decoded
	}
	out, _, err := c.program.Eval(f.values)
	return err != nil || out != types.False
}

// CheckEmissions reports faults of the emissions at a path of a file.
func CheckEmissions(found *strictyaml.Findings, at string, list []Emission) {
	checkCount(found, at, len(list))
	for i, one := range list {
		path := jsonpath.Index(at, i)
		if slices.Contains(list[:i], one) {
			found.Add(path, "remove one", "%q is given twice", one.Label)
		}
		if one.When == "" {
			continue
		}
		if _, err := CompileEmissions(list[i : i+1]); err != nil {
			hint := ""
			if fault, ok := err.(*Fault); ok {
				err, hint = fmt.Errorf("%s%s", fault.Where(), fault.Message), fault.Hint
			}
			found.Add(path+".when", hint, "label %q, %v", one.Label, err)
		}
	}
}

func checkCount(found *strictyaml.Findings, at string, n int) {
	if n > maxEmissions {
		found.Add(at, "use fewer labels, for a source or a degree of trust", "there are %d labels; "+
			"a tool may have %d", n, maxEmissions)
	}
}
