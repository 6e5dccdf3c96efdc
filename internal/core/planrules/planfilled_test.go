package planrules

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

func TestPlanFilled_PutsArgumentsIntoThePlan(t *testing.T) {
	for name, test := range map[string]struct{ template, arguments, want string }{
		"text": {`{"a":"to {{args.x}}!"}`, `{"x":"Oslo"}`, `{"a":"to Oslo!"}`},
		"value": {`{"a":"{{args.x}}","b":1}`, `{"x":[1,{"y":2.50}]}`,
			`{"a":[1,{"y":2.50}],"b":1}`},
		"absent":          {`{"a":"{{args.x}}","b":"-{{args.x}}-"}`, `{}`, `{"b":"--"}`},
		"reference stays": {`{"a":"${n.v} and {{args.x}}"}`, `{"x":1}`, `{"a":"${n.v} and 1"}`},
		"no reference from arguments": {`{"a":"{{args.x}}","b":"- {{args.x}}"}`, `{"x":"${n.v}"}`,
			`{"a":"$${n.v}","b":"- $${n.v}"}`},
		"nested value": {`{"a":"{{args.x}}"}`, `{"x":{"k":["$${n}"]}}`, `{"a":{"k":["$$${n}"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := api.Plan{Calls: []api.PlanCall{{ID: "c", Tool: "t",
				Arguments: json.RawMessage(test.template)}}}
			filled, err := Fill(p, json.RawMessage(test.arguments))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(filled.Calls[0].Arguments); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if string(p.Calls[0].Arguments) != test.template {
				t.Errorf("the plan itself has changed to %s", p.Calls[0].Arguments)
			}
		})
	}
}

// No argument can add a reference to the plan, take one away, or change one.
func TestPlanFilled_RefusesArgumentsThatChangeReferences(t *testing.T) {
	const want = "validation_error: an argument would change the references in the arguments of call c of the plan; pass text without $ at its ends"
	for name, test := range map[string]struct{ template, arguments string }{
		"two arguments": {`{"a":"{{args.x}}{{args.y}}"}`, `{"x":"$","y":"{n.v}"}`},
		"before braces": {`{"a":"{{args.x}}{n.v}"}`, `{"x":"$"}`},
		"escapes one":   {`{"a":"{{args.x}}${n.v}"}`, `{"x":"$"}`},
		"another field": {`{"a":"${n.{{args.x}}}"}`, `{"x":"w"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := api.Plan{Calls: []api.PlanCall{{ID: "c", Tool: "t",
				Arguments: json.RawMessage(test.template)}}}
			_, err := Fill(p, json.RawMessage(test.arguments))
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestPlanFilled_BoundsThePlan(t *testing.T) {
	call := api.PlanCall{ID: "c", Tool: "t", Arguments: json.RawMessage(`{"a":"{{args.x}}"}`)}
	p := api.Plan{Calls: []api.PlanCall{call, call, call}}
	arguments, err := json.Marshal(map[string]string{"x": strings.Repeat("x", maxFilled/2)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Fill(p, arguments)
	if want := "validation_error: the plan with these arguments has more than 1048576 bytes; pass less, or a reference to where the data is"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestPlanFilled_FillsOutputAndAsk(t *testing.T) {
	p := api.Plan{Calls: []api.PlanCall{{ID: "c", Tool: "t", Ask: "for {{args.x}}"}},
		Output: json.RawMessage(`{"r":"${c}","of":"{{args.n}}"}`)}
	filled, err := Fill(p, json.RawMessage(`{"x":"${c}","n":7}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(filled.Output) != `{"of":7,"r":"${c}"}` || filled.Calls[0].Ask != "for ${c}" {
		t.Errorf("output %s, ask %q", filled.Output, filled.Calls[0].Ask)
	}
}
