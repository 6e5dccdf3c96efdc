package toolspecs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// CheckBatch also sets the default of max.
func TestCheckBatch_ReportsWhatPreventsBatching(t *testing.T) {
	spec := func(change func(*Spec)) error {
		s := Spec{Name: "stat", Version: "1.0.0", Description: "Stats.",
			Entry: Entry{Type: KindFunction},
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
		"names no argument":                  func(s *Spec) { s.Batch.Argument = "" },
		`the tool has no parameter "path" (`: func(s *Spec) { s.Batch.Argument = "path" },
		"unit is no list":                    func(s *Spec) { s.Batch.Argument = "unit" },
		"is not between 2 and":               func(s *Spec) { s.Batch.Max = 1 },
		"declare the output as an array": func(
			s *Spec) {
			s.Output = &Parameter{Type: schemas.TypeString}
		},
		"calls of the kind stateful cannot be batched": func(
			s *Spec) {
			s.Entry.Type = KindStateful
		},
		"calls on the lane inline": func(s *Spec) {
			s.Execution.Lane, s.Execution.Effect = api.LaneInline, api.EffectRead
		},
		"calls that can ask a person cannot be batched": func(
			s *Spec) {
			s.Entry.AnswerWithin = defaultAnswerWithin
		},
		"of a batch cannot be verified": func(
			s *Spec) {
			s.Verify = &api.Verify{Tool: "look", Done: "found"}
		},
		`the tool has no parameter "paths"`: func(s *Spec) {
			s.Parameters, s.InputSchema = nil,
				json.RawMessage(`{"type":"object","properties":{"list":{"type":"array"}}}`)
		},
	} {
		if err := spec(change); (err != nil) != (want != "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	const head = "name: stat\nversion: 1.0.0\ndescription: Stats.\nparameters: [{name: paths, type: array}]\nentry: {type: function}\n"
	if specs, err := Decode("t.yaml", []byte(head+"batch: {argument: paths, max: 7}\n"),
		Options{}); err != nil || specs[0].Batch.Max != 7 {
		t.Errorf("from a file: %v", err)
	}
	if _, err := Decode("t.yaml", []byte(head+"batch: {argument: path, min: 7}\n"),
		Options{}); err == nil || !strings.Contains(err.Error(), "t.yaml:6:") {
		t.Errorf("a wrong file: %v", err)
	}
}
