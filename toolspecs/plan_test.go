package toolspecs

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// planSpec returns a plan tool with the parameter item whose plan makes these calls.
func planSpec(name string, effect api.Effect, calls ...api.PlanCall) Spec {
	return Spec{Name: name, Version: "1.0.0", Description: "A plan.",
		Parameters: []Parameter{{Name: "item", Type: "string", Required: true}},
		Entry:      Entry{Kind: PlanEntry{Plan: &api.Plan{Name: name, Calls: calls}}},
		Execution:  ExecutionSpec{Effect: effect}}.withDefaults()
}

func planCall(id, tool, arguments string) api.PlanCall {
	return api.PlanCall{ID: id, Tool: tool, Arguments: json.RawMessage(arguments)}
}

func TestPlanSpec_PinsTheWholePlan(t *testing.T) {
	c, err := planSpec("order", "", planCall("a", "look", `{"item":"{{args.item}}"}`)).Compile()
	if err != nil {
		t.Fatal(err)
	}
	tool := c.Tool()
	if tool.Dispatch != api.DispatchChildWorkflow || tool.Effect != api.EffectOnce ||
		tool.Timeout != defaultChildTimeout {
		t.Errorf("facts: %+v", tool)
	}
	again, err := FromTool(tool)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(again.Spec.plan().Calls[0].Arguments); got != `{"item":"{{args.item}}"}` {
		t.Errorf("read back: %s", got)
	}
	other, err := planSpec("order", "", planCall("a", "look", `{"item":"x"}`)).Compile()
	if err != nil || other.Digest == c.Digest {
		t.Errorf("another plan has the digest %s too, %v", c.Digest, err)
	}
}

func TestPlanSpec_IsRejectedIfItCannotRun(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"no plan": {func(s *Spec) { s.Entry.Kind = PlanEntry{} },
			"$.entry.plan: a plan tool needs a plan (write plan: and the path of a plan file)"},
		"undeclared parameter": {func(s *Spec) {
			s.plan().Calls[0].Arguments = json.RawMessage(`{"n":["{{args.itm}}"]}`)
		}, `$.entry.plan: calls[0].arguments.n[0] of the plan: {{args.itm}} names no parameter of this tool (did you mean "item"?)`},
		"plan with a fault": {func(s *Spec) { s.plan().Calls[0].DependsOn = []string{"b"} },
			`$.entry.plan: $.calls[0].depends_on[0]: there is no call "b" in the plan`},
		"sensitive argument": {func(s *Spec) { s.Parameters[0].Sensitive = true },
			"$.parameters[0].sensitive: arguments of a plan tool cannot be sensitive: they are shown in its run's plan (give the secret to a tool that the plan calls)"},
		"retries": {func(s *Spec) { s.Execution.Effect, s.Execution.Retry.MaxAttempts = "read", 3 },
			"$.execution.retry.max_attempts: a plan's run has one attempt, not 3 (remove it; its calls are tried again by their own policies)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := planSpec("order", "", planCall("a", "look", `{}`))
			test.change(&s)
			_, err := s.Compile()
			if want := `toolspec "order": ` + test.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestCheckPlans_ComparesPlansWithTheToolsThatTheyCall(t *testing.T) {
	look := Spec{Name: "look", Parameters: []Parameter{{Name: "item", Type: "string",
		Required: true}}, Entry: Entry{Kind: FunctionEntry{}},
		Execution: ExecutionSpec{Effect: api.EffectRead}}.withDefaults()
	book := look
	book.Name, book.Execution.Effect = "book", api.EffectOnce
	all := []Spec{look, book, planSpec("outer", api.EffectOnce, planCall("a", "inner", `{"item":"x"}`)),
		planSpec("inner", api.EffectOnce, planCall("a", "outer", `{"item":"x"}`))}
	for name, test := range map[string]struct {
		spec Spec
		want string
	}{
		"fits": {planSpec("p", api.EffectRead, planCall("a", "look", `{"item":"x"}`)), ""},
		"unknown tool": {planSpec("p", "", planCall("a", "lok", `{}`)),
			`toolspec "p": its plan calls the tool "lok", and there is none (did you mean "look"?)`},
		"missing argument": {planSpec("p", "", planCall("a", "look", `{}`)),
			`toolspec "p": $.entry.plan: call a of the plan: look needs the argument "item" (give it)`},
		"undeclared argument": {planSpec("p", "", planCall("a", "look", `{"item":"x","itm":1}`)),
			`toolspec "p": $.entry.plan: call a of the plan: look has no parameter "itm" (did you mean "item"?)`},
		"weaker effect": {planSpec("p", api.EffectRead, planCall("a", "book", `{"item":"x"}`)),
			`toolspec "p": $.execution.effect: the effect is read, but call a of the plan uses book, whose effect is once (write effect: once)`},
		"calls itself": {planSpec("p", "", planCall("a", "p", `{"item":"x"}`)),
			`toolspec "p": $.entry.plan: the plan calls itself: p → p (call another tool)`},
		"calls itself by another": {all[2],
			`toolspec "outer": $.entry.plan: the plan calls itself: outer → inner → outer (call another tool)`},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckPlans([]Spec{test.spec}, all, nil)
			if got := errorText(err); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCheckPlans_ReportsUnknownToolsInThePlanFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "plans", "order.yaml")
	write(t, file, "name: order\ncalls:\n  - {id: a, tool: serch}\n")
	spec := filepath.Join(dir, "tools", "a.yaml")
	write(t, spec, strings.Join([]string{"name: order", "version: 1.0.0", "description: Orders.",
		"entry: {type: plan, plan: ../plans/order.yaml}", ""}, "\n"))
	specs, _ := decodeFileOf(t, spec)
	err := CheckPlans(specs, nil, []string{"search"})
	if want := file + `:3:19: there is no tool "serch" (did you mean "search"?)`; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
