package toolspecs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

func planned(t *testing.T, change func(*Spec)) *Compiled {
	t.Helper()
	s := Spec{Name: "book", Version: "1.0.0", Description: "Books.",
		Entry:      Entry{Kind: FunctionEntry{}},
		Parameters: []Parameter{{Name: "room", Type: schemas.TypeString, Required: true}}}
	if change != nil {
		change(&s)
	}
	c, err := s.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A plan is read with all its fields. Arguments without a plan, and arguments of tools that declare
// execution_plan themselves, stay unchanged.
func TestTakePlan_SeparatesThePlanFromTheArguments(t *testing.T) {
	c := planned(t, nil)
	rest, plan, problems := c.TakePlan(`{"room":"7","execution_plan":{"intent":"book it","dry_run":true,
		"limits":{"timeout":"5s","max_attempts":2},"rollback":"cancel","preconditions":["free"],"expected_outcomes":["booked"]},"z":1}`)
	if rest != `{"room":"7","z":1}` || len(problems) > 0 {
		t.Fatalf("rest %s, problems %v", rest, problems)
	}
	if plan.Intent != "book it" || !plan.DryRun || plan.Limits.Timeout.Std() != 5*time.Second ||
		plan.Limits.MaxAttempts != 2 ||
		plan.Rollback != "cancel" || plan.Preconditions[0] != "free" ||
		plan.ExpectedOutcomes[0] != "booked" {
		t.Errorf("the plan is %+v", plan)
	}
	own := planned(t, func(s *Spec) {
		s.Parameters = append(s.Parameters, Parameter{Name: api.PlanArgument,
			Type: schemas.TypeString})
	})
	none := planned(t, func(s *Spec) { s.ExecutionPlan = planNone })
	for name, test := range map[string]struct {
		tool *Compiled
		text string
	}{
		"no plan":             {c, `{"room": "7"}`},
		"not at the top":      {c, `{"room": {"execution_plan": {}}}`},
		"no JSON":             {c, `{"execution_plan": `},
		"no object":           {c, `["execution_plan"]`},
		"the tool's own":      {own, `{"execution_plan": "x"}`},
		"a tool without them": {none, `{"execution_plan": {"intent": "x"}}`},
	} {
		if rest, plan, problems := test.tool.TakePlan(test.text); rest != test.text ||
			plan != nil || len(problems) > 0 {
			t.Errorf("%s: %s, %v, %v", name, rest, plan, problems)
		}
	}
}

// Exceeded bounds are faults as well.
func TestTakePlan_ReportsEveryFaultWithItsPath(t *testing.T) {
	tool := planned(t, nil)
	agent := planned(t, func(s *Spec) {
		s.Entry = Entry{Kind: AgentEntry{Agent: &api.Agent{Name: "a",
			Model: api.Model{Provider: api.ProviderOpenAI, Name: "m"}}}}
	})
	for _, test := range []struct {
		tool *Compiled
		plan string
		want string
	}{
		{tool, `"do it"`, "$.execution_plan: must be an object, not the string \"do it\""},
		{tool, `{}`, "$.execution_plan.intent: \"intent\" is required (string)"},
		{tool, `{"intent":""}`, "$.execution_plan.intent: \"\" has 0 of at least 1 characters"},
		{tool, `{"intent":"a","intention":"b","limits":{"timout":"1s","max_attempts":0}}`,
			"$.execution_plan.intention: there is no property \"intention\"; did you mean \"intent\"?\n$.execution_plan.limits.max_attempts: 0 must be at least 1\n$.execution_plan.limits.timout: there is no property \"timout\"; did you mean \"timeout\"?"},
		{tool, `{"intent":"a","limits":{"timeout":"soon"}}`,
			"$.execution_plan.limits.timeout: \"soon\" is not a duration; write a number and a unit, such as 500ms, 30s or 2h"},
		{tool, `{"intent":"a","limits":{"timeout":"0s"}}`,
			"$.execution_plan.limits.timeout: \"0s\" is not a duration; write a number and a unit, such as 500ms, 30s or 2h"},
		{tool, `{"intent":"a","limits":{"max_calls":3,"max_cost":0.5}}`,
			"$.execution_plan.limits.max_calls: max_calls bounds agents, but book is not one; remove it\n$.execution_plan.limits.max_cost: max_cost bounds agents, but book is not one; remove it"},
		{agent, `{"intent":"a","limits":{"max_attempts":3}}`,
			"$.execution_plan.limits.max_attempts: max_attempts does not bound agents, and book is one; remove it"},
		{tool, `{"intent":"` + strings.Repeat("x", 2000+1) + `"}`,
			"$.execution_plan.intent: \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… has 2001 of at most 2000 characters"},
	} {
		_, plan, problems := test.tool.TakePlan(`{"room":"7","execution_plan":` + test.plan + `}`)
		var messages strings.Builder
		for _, p := range problems {
			messages.WriteString(p.String() + "\n")
		}
		if got := strings.TrimSuffix(messages.String(), "\n"); got != test.want {
			t.Errorf("%.80s: got\n%s\nwant\n%s", test.plan, got, test.want)
		}
		if plan != nil {
			t.Errorf("%.80s: taken as %+v", test.plan, plan)
		}
	}
	if _, plan, problems := agent.TakePlan(
		`{"execution_plan":{"intent":"a","limits":{"max_turns":1,"max_calls":2,"max_tokens":3,"max_cost":0.5}}}`); plan == nil ||
		plan.Limits.MaxCost != 0.5 {
		t.Errorf("an agent's bounds: %v", problems)
	}
}

// Models see execution plans only if the spec declares them. The tool's own schema stays unchanged,
// and a tool cannot declare both.
func TestModelSchema_HasPlansOnlyIfDeclared(t *testing.T) {
	plain := planned(t, nil)
	if string(plain.ModelSchema()) != string(plain.InputSchema()) {
		t.Error("the model's schema has plans by default")
	}
	for _, change := range []func(*Spec){
		nil,
		func(s *Spec) {
			s.Parameters, s.InputSchema = nil, json.RawMessage(`{"type":"object","required":["a"]}`)
		},
		func(s *Spec) { s.Parameters = nil },
	} {
		required := planned(t, func(s *Spec) {
			if s.ExecutionPlan = PlanRequired; change != nil {
				change(s)
			}
		})
		schema, err := schemas.NewForm(required.ModelSchema())
		if err != nil {
			t.Fatal(err)
		}
		problems := schema.Check(json.RawMessage(`{"room":"7","a":"b"}`))
		if !slices.ContainsFunc(problems, func(p api.Problem) bool {
			return p.Path == "$."+
				api.PlanArgument && p.Rule == api.RuleRequired
		}) {
			t.Errorf("%s: %v", required.ModelSchema(), problems)
		}
		if strings.Contains(string(required.InputSchema()), api.PlanArgument) ||
			!required.NeedsPlan() {
			t.Errorf("the tool's own schema is %s", required.InputSchema())
		}
	}
	optional := planned(t, func(s *Spec) { s.ExecutionPlan = planOptional })
	if text := string(optional.ModelSchema()); !strings.Contains(text, `"expected_outcomes"`) ||
		strings.Contains(text, `"required":["room","execution_plan"]`) {
		t.Errorf("models are shown %s", text)
	}
	s := optional.Spec
	s.Parameters = []Parameter{{Name: api.PlanArgument, Type: schemas.TypeString}}
	if _, err := s.Compile(); err == nil || err.Error() != `toolspec "book": $.execution_plan: the tool declares a parameter execution_plan of its own, so that calls cannot carry an execution plan (rename the parameter, or write execution_plan: none)` {
		t.Errorf("both: %v", err)
	}
}
