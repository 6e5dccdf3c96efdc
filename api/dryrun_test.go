package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The calls keep their order and get valid, distinct ids. They are bound to their toolspecs and to
// what people approve. Texts that look like references stay texts, and execution plans are included
// without dry_run.
func TestPlanOfDryRun_ContainsTheWithheldCalls(t *testing.T) {
	calls := []WithheldCall{
		{Path: "1.1", Tool: "a", Digest: "d1",
			Arguments: json.RawMessage(`{"text":"${x} and $${y}","list":["${z}",1],"pin":"4711"}`),
			Mask:      Tool{Sensitive: []string{"pin"}}.ArgumentMask()},
		{Path: "1.2/3.1", Tool: "b", Digest: "d2",
			Arguments: json.RawMessage(`{"card":"card-4711"}`),
			Plan:      &ExecutionPlan{Intent: "try card-4711", DryRun: true}, Ask: "large",
			Mask: Tool{Sensitive: []string{"card"}}.ArgumentMask()},
		{Path: "1-2/3.1", Tool: "b", Arguments: json.RawMessage(`{"n":12345678901234567890}`)},
		{Path: strings.Repeat("1.1/", 40), Tool: "b", Arguments: json.RawMessage(`{}`)},
	}
	plan, err := PlanOfDryRun("dry", calls)
	if err != nil {
		t.Fatal(err)
	}
	if problems := plan.Check(); len(problems) > 0 {
		t.Errorf("the plan has problems: %v", problems)
	}
	var ids []string
	for i, c := range plan.Calls {
		ids = append(ids, c.ID)
		if c.Digest != calls[i].Digest || c.Ask != calls[i].Ask || i > 0 &&
			!slices.Equal(c.DependsOn, []string{ids[i-1]}) || len(c.References()) > 0 {
			t.Errorf("call %d is %+v", i, c)
		}
	}
	if !slices.Equal(ids[:3], []string{"call-1-1", "call-1-2-3-1", "call-1-2-3-1-2"}) {
		t.Errorf("ids %v", ids)
	}
	value, err := DecodeJSON(plan.Calls[0].Arguments)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Resolve(value, func(string) (any, bool) { return nil, false })
	if data, _ := EncodeJSON(back); err != nil ||
		string(data) != `{"list":["${z}",1],"pin":"4711","text":"${x} and $${y}"}` {
		t.Errorf("the first call gets %s, %v", data, err)
	}
	if got := string(plan.Calls[1].Arguments); got != `{"card":"card-4711","execution_plan":{"intent":"try card-4711"}}` {
		t.Errorf("the second call gets %s", got)
	}
	if got := string(plan.Calls[2].Arguments); got != `{"n":12345678901234567890}` {
		t.Errorf("the third call gets %s", got)
	}
	digest, err := PlanDigest(plan)
	if err != nil || digest == "" {
		t.Fatal(digest, err)
	}
	shown := plan.Shown(calls)
	if text := string(shown.Calls[1].Arguments); text != `{"card":"***","execution_plan":{"intent":"try ***"}}` {
		t.Errorf("shown as %s", text)
	}
	if text := string(shown.Calls[0].Arguments); strings.Contains(text, "4711") ||
		!strings.Contains(string(plan.Calls[0].Arguments), "4711") {
		t.Errorf("shown as %s", text)
	}
	calls[1].Digest = "d3"
	other, err := PlanOfDryRun("dry", calls)
	if second, _ := PlanDigest(other); err != nil || second == digest {
		t.Error("another toolspec gives the same digest")
	}
	if _, err := PlanOfDryRun("dry",
		[]WithheldCall{{Path: "1.1", Tool: "a", Arguments: json.RawMessage(`{`)}}); err == nil {
		t.Error("broken arguments make a plan")
	}
}

func TestCallDigest_IsEqualForEqualCalls(t *testing.T) {
	one := CallDigest("a", `{"x":1,"y":"<"}`)
	for _, same := range []string{`{ "y":"<", "x":1 }`,
		`{"x":1,"y":"\u003c","execution_plan":{"intent":"b"}}`} {
		if CallDigest("a", same) != one {
			t.Errorf("%s differs", same)
		}
	}
	for _, other := range []string{`{"x":2,"y":"<"}`, `{"x":1}`, `{`, `[1]`} {
		if CallDigest("a", other) == one {
			t.Errorf("%s is the same", other)
		}
	}
	if CallDigest("b", `{"x":1,"y":"<"}`) == one || CallDigest("a", "") != CallDigest("a", "{ }") {
		t.Error("the tool, or no arguments")
	}
}
