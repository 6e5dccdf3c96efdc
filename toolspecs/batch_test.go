package toolspecs

import (
	"encoding/json"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// CheckBatch also sets the default of max.
func TestCheckBatch_ReportsWhatPreventsBatching(t *testing.T) {
	spec := func(change func(*Spec)) error {
		s := Spec{Name: "stat", Version: "1.0.0", Description: "Stats.",
			Entry: Entry{Kind: FunctionEntry{}},
			Parameters: []Parameter{{Name: "paths", Type: schemas.TypeArray},
				{Name: "unit", Type: schemas.TypeString}}, Batch: &api.Batch{Argument: "paths"}}
		change(&s)
		c, err := s.Compile()
		if err == nil && (c.Tool().Batch.Max != api.DefaultBatch || s.Batch.Max != 0) {
			t.Errorf("max is %d, and in the spec %d", c.Tool().Batch.Max, s.Batch.Max)
		}
		return err
	}
	for want, change := range map[string]func(*Spec){
		"": func(
			s *Spec) {
			s.Output = &Parameter{Type: schemas.TypeArray}
		},
		`toolspec "stat": $.batch.argument: argument is missing (write argument: and the name of the parameter that holds the list)`: func(s *Spec) { s.Batch.Argument = "" },
		`toolspec "stat": $.batch.argument: the tool has no parameter "path" (did you mean "paths"?)`:                                func(s *Spec) { s.Batch.Argument = "path" },
		`toolspec "stat": $.batch.argument: unit is no list (name a parameter of the type array)`:                                    func(s *Spec) { s.Batch.Argument = "unit" },
		`toolspec "stat": $.batch.max: max is 1; the minimum is 2`:                                                                   func(s *Spec) { s.Batch.Max = 1 },
		`toolspec "stat": $.batch: the output is declared as string, but a batched call returns an array (declare the output as an array with one element for each)`: func(
			s *Spec) {
			s.Output = &Parameter{Type: schemas.TypeString}
		},
		`toolspec "stat": $.batch: calls of the kind stateful cannot be batched; batch is for command, function, mcp, rest (remove it)`: func(
			s *Spec) {
			s.Entry.Kind = StatefulEntry{}
		},
		`toolspec "stat": $.batch: calls on the lane inline cannot be batched (remove it, or name another lane)`: func(s *Spec) {
			s.Execution.Lane, s.Execution.Effect = api.LaneInline, api.EffectRead
		},
		`toolspec "stat": $.batch: calls that can ask a person cannot be batched (remove it, or answer_within)`: func(
			s *Spec) {
			s.Entry.Kind = FunctionEntry{AnswerWithin: defaultAnswerWithin}
		},
		`toolspec "stat": $.batch: the outcome of one call of a batch cannot be verified (remove it, or verify)`: func(
			s *Spec) {
			s.Verify = &api.Verify{Tool: "look", Done: "found"}
		},
		`toolspec "stat": $.batch.argument: the tool has no parameter "paths" (known: list)`: func(s *Spec) {
			s.Parameters, s.InputSchema = nil,
				json.RawMessage(`{"type":"object","properties":{"list":{"type":"array"}}}`)
		},
	} {
		if err := spec(change); (err != nil) != (want != "") || err != nil &&
			err.Error() != want {
			t.Errorf("%q: %v", want, err)
		}
	}
	const head = "name: stat\nversion: 1.0.0\ndescription: Stats.\nparameters: [{name: paths, type: array}]\nentry: {type: function}\n"
	if specs, err := Decode("t.yaml", []byte(head+"batch: {argument: paths, max: 7}\n"),
		Options{}); err != nil || specs[0].Batch.Max != 7 {
		t.Errorf("from a file: %v", err)
	}
	if _, err := Decode("t.yaml", []byte(head+"batch: {argument: path, min: 7}\n"),
		Options{}); err == nil || err.Error() != "t.yaml:6:19: the tool has no parameter \"path\" (did you mean \"paths\"?)\nt.yaml:6:25: unknown field \"min\" (known: argument, max)" {
		t.Errorf("a wrong file: %v", err)
	}
}
