package admission

import (
	"encoding/json"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// The plan of a call is in its decision and not in its arguments. An invalid or missing plan
// refuses the call with every fault. The decision about a call without a plan has no further
// fields.
func TestAdmit_SeparatesTheExecutionPlan(t *testing.T) {
	catalog := catalogOf(t, spec("read_file", nil),
		spec("careful", func(s *toolspecs.Spec) { s.ExecutionPlan = toolspecs.PlanRequired }),
		spec("strange", func(s *toolspecs.Spec) { s.Parameters[0].Name = api.PlanArgument }))
	b, r := setUp(t, catalog, nil), api.AdmissionRequest{Tools: toolsOf(catalog)}
	undo := api.CallPurpose{Purpose: api.PurposeUndo, TargetCallID: "0.1", TargetTool: "read_file"}
	for _, test := range []struct {
		call      api.Call
		arguments string
		intent    string
		refused   api.ErrorType
		contains  string
	}{
		{api.Call{Tool: "read_file", Arguments: `{"text":"a"}`}, "", "", "", ""},
		{api.Call{Tool: "read_file", Arguments: `{"text":"a","execution_plan":{"intent":"look"}}`},
			`{"text":"a"}`, "look", "", ""},
		{api.Call{Tool: "read_file", Arguments: `{"text":"a"}`,
			Plan: &api.ExecutionPlan{Intent: "taken off"}}, "", "taken off", "", ""},
		{api.Call{Tool: "read_file", Arguments: `{"text":"a","execution_plan":{}}`}, "", "",
			api.ErrInvalidExecutionPlan, "invalid_execution_plan: the execution plan of the call to read_file is not one\n  $.execution_plan.intent: \"intent\" is required (string)"},
		{api.Call{Tool: "read_file", Arguments: `{"txt":"a","execution_plan":{"intent":"look"}}`},
			"", "look", api.ErrValidation, "validation_error: the arguments of read_file do not fit\n  $.text: \"text\" is required (string)\n  $.txt: there is no argument \"txt\"; did you mean \"text\"?"},
		{api.Call{Tool: "careful", Arguments: `{"text":"a"}`}, "", "", api.ErrInvalidExecutionPlan,
			"invalid_execution_plan: a call to careful has to carry an execution plan\n  $.execution_plan: write it among the arguments, such as {\"intent\": \"what the call is for\"}"},
		{api.Call{Tool: "careful", Arguments: `{"text":"a"}`, CallPurpose: undo}, `{"text":"a"}`,
			"", "", ""},
		{api.Call{Tool: "strange", Arguments: `{"execution_plan":"mine"}`}, "", "", "", ""},
	} {
		r.Calls = []api.Call{test.call}
		v := b.admit(t, r)[0]
		switch {
		case test.refused == "" && v.Error != nil, test.refused != "" &&
			(v.Error == nil || v.Error.Type != test.refused):
			t.Errorf("%s: %v", test.call.Arguments, v.Error)
		case test.refused != "" && (v.Error.Error() != test.contains ||
			v.Error.ForModel() == ""):
			t.Errorf("%s: got %v", test.call.Arguments, v.Error)
		}
		if string(v.Arguments) != test.arguments || (v.Plan != nil) != (test.intent != "") ||
			v.Plan != nil && v.Plan.Intent != test.intent {
			t.Errorf("%s: arguments %s, plan %+v", test.call.Arguments, v.Arguments, v.Plan)
		}
	}
}

// A hook that changes the arguments of a call keeps its execution plan, so a tool that requires one
// accepts the call. A hook that stops the call keeps the plan in the record.
func TestExecutionPlan_SurvivesHooks(t *testing.T) {
	for _, decision := range []tool.HookDecision{{Arguments: json.RawMessage(`{"text":"b"}`)},
		{Block: "no"}} {
		catalog := catalogOf(t,
			spec("careful", func(s *toolspecs.Spec) { s.ExecutionPlan = toolspecs.PlanRequired }))
		b := setUp(t, catalog, func(c *Config) { c.Hooks = hooksOf(t, before(decision, nil)) })
		r := api.AdmissionRequest{Tools: toolsOf(catalog), Hooks: []api.Hook{{Name: "h"}},
			Origin: &api.Origin{},
			Calls: []api.Call{{ID: "1", Tool: "careful",
				Arguments: `{"text":"a","execution_plan":{"intent":"look"}}`}}}
		v := b.admit(t, r)[0]
		if v.Plan == nil || v.Plan.Intent != "look" || (v.Error != nil) != (decision.Block != "") {
			t.Errorf("%+v: %+v", decision, v)
		}
	}
}
