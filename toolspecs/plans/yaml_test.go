package plans

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsontext"
)

// A plan that is written as a file decodes to the same plan, whatever its texts contain, and has
// one line for each field.
func TestPlanYAML_RoundTrips(t *testing.T) {
	plan := api.Plan{Name: "dry", Calls: []api.PlanCall{
		{ID: "call-1", Tool: "book", Digest: "d",
			Arguments: json.RawMessage(
				`{"a":"yes","b":"1e3","c":" x: #y\n","d":"${call-0}","e":[],"f":{},"g":12345678901234567890,"h":null,"i":"it\u2028s","j":"\ud83d\ude00"}`)},
		{ID: "call-2", Tool: "book", Arguments: json.RawMessage(`{"list":["a",["b"]]}`),
			DependsOn: []string{"call-1"}, Priority: api.PriorityHigh},
	}}
	plan.Calls[0].Arguments = json.RawMessage(strings.Replace(string(plan.Calls[0].Arguments), "${",
		"$${", 1))
	data, err := YAML(plan)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode("plan.yaml", data, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	for i := range plan.Calls {
		want, _ := jsontext.Canonical(string(plan.Calls[i].Arguments))
		got, _ := jsontext.Canonical(string(back.Calls[i].Arguments))
		if string(got) != string(want) {
			t.Errorf("arguments\n%s, want\n%s", got, want)
		}
		plan.Calls[i].Arguments, back.Calls[i].Arguments = nil, nil
	}
	if !reflect.DeepEqual(*back, plan) {
		t.Errorf("got %+v, want %+v", *back, plan)
	}
	if !strings.Contains(string(data), "\n  - id: call-1\n    tool: book\n") {
		t.Errorf("the file is\n%s", data)
	}
}
