package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/queues"
)

// These names are in histories, on servers and in queries: a changed one breaks open runs. To
// retire a name, add a new one and leave the old one here.
func TestNames_AreFrozen(t *testing.T) {
	frozen := []struct{ got, want string }{
		{api.AgentWorkflow, "switchyard/agent_run"}, {api.PlanWorkflow, "switchyard/plan_run"},
		{api.SessionWorkflow, "switchyard/session_run"},
		{api.SubmitCallsUpdate, "switchyard/submit_calls"},
		{api.CancelCallUpdate, "switchyard/cancel_call"},
		{api.LeaveCallUpdate, "switchyard/leave_call"},
		{api.EndSessionUpdate, "switchyard/end_session"}, {api.CallStatusQuery, "switchyard/call_status"},
		{api.CallWorkflow, "switchyard/direct_call"},
		{api.ReportCatalogActivity, "switchyard/report_catalog"},
		{queues.Worker("q", "1@host"), "q/worker/1@host"},
		{queues.Backlog("q"), "q/backlog"},
		{api.ReadBacklogActivity, "switchyard/read_backlog"},
		{api.InstanceWorkflow, "switchyard/conversation_instance"},
		{api.JoinInstanceActivity, "switchyard/join_instance"},
		{api.FindEndedUsersActivity, "switchyard/find_ended_users"},
		{api.JoinInstanceSignal, "switchyard/join_instance"},
		{api.LeaveInstanceSignal, "switchyard/leave_instance"},
		{api.InstanceEndedSignal, "switchyard/instance_ended"},
		{api.InstanceWorkflowID("q", "", "talk", "shell"),
			"switchyard/instance/q/" + api.Digest([]byte("talk")) + "/shell"},
		{api.InstanceWorkflowID("q", "gpu", "talk", "shell"),
			"switchyard/instance/q/" + api.Digest([]byte("talk")) + "/shell@gpu"},
		{queues.ConversationInstance("q", "", "talk", "shell"),
			"q/instance/conversation-" + api.Digest([]byte("talk")) + "/shell"},
		{api.PinActivity, "switchyard/pin_catalog"}, {api.AdmitActivity, "switchyard/admit_calls"},
		{api.ModelActivity, "switchyard/model_step"},
		{api.HostInstanceActivity, "switchyard/host_instance"}, {api.HookActivity, "switchyard/run_hook"},
		{api.NotifyApprovalActivity, "switchyard/notify_approval"},
		{api.SetupQuery, "switchyard/setup"}, {api.ConversationQuery, "switchyard/conversation"},
		{api.SendMessageUpdate, "switchyard/send_message"},
		{api.SendMessageSignal, "switchyard/send_message"}, {api.PauseUpdate, "switchyard/pause"},
		{api.ResumeUpdate, "switchyard/resume"}, {api.PausedMemo, "SwitchyardPaused"},
		{api.AttributeAgent, "SwitchyardAgent"}, {api.AttributeConversation, "SwitchyardConversation"},
		{api.AttributeKind, "SwitchyardKind"}, {api.AttributeCaller, "SwitchyardCaller"},
		{api.AttributeWaiting, "SwitchyardWaiting"},
		{api.AttributeOutcome, "SwitchyardOutcome"}, {api.AttributeTools, "SwitchyardTools"},
		{api.AttributeTurns, "SwitchyardTurns"},
		{api.AttributeCalls, "SwitchyardCalls"}, {api.AttributeTokens, "SwitchyardTokens"},
		{api.AttributeCost, "SwitchyardCost"},
		{api.DefaultTaskQueue, "switchyard"}, {api.LaneGeneral, "general"}, {api.LaneSerial, "serial"},
		{string(api.PhasePreValidation), "pre_validation"}, {string(api.PhasePreExecution),
			"pre_execution"}, {string(api.PhaseExecution), "execution"},
		{string(api.PhasePostExecution), "post_execution"}, {string(api.PhaseErrorHandling),
			"error_handling"},
		{string(api.CallerAgent), "agent"}, {string(api.CallerPlan), "plan"}, {string(api.CallerSession),
			"session"}, {string(api.CallerDirect), "direct"},
		{string(api.RoleSystem), "system"}, {string(api.RoleUser), "user"}, {string(api.RoleAssistant),
			"assistant"}, {string(api.RoleTool), "tool"},
		{string(api.RunInvalid), "invalid_run"}, {string(api.RunModelFailed), "model_failed"},
		{string(api.RunRefused), "model_refused"}, {string(api.RunCallsFailed), "calls_failed"},
		{string(api.RunBlocked), "blocked_by_hook"}, {string(api.OutcomeCancelled), "cancelled"},
		{string(api.HookBeforeRun), "before_run"}, {string(api.HookMemoryRetrieve), "memory_retrieve"},
		{string(api.HookBeforeCall), "before_call"},
		{string(api.HookAfterCall), "after_call"}, {string(api.HookMemoryWrite), "memory_write"},
		{string(api.HookAfterRun), "after_run"},
		{string(api.OutcomeAnswered), "answered"}, {string(api.OutcomeCompleted), "completed"},
		{string(api.OutcomeLimit), "limit_reached"}, {string(api.OutcomeFailed), "failed"},
		{string(api.ProviderOpenAI), "openai"}, {string(api.ProviderScripted), "scripted"},
		{string(api.StopAnswer), "stop"}, {string(api.StopCalls), "tool_calls"},
		{string(api.StopLength), "length"}, {string(api.StopRefusal), "refusal"},
		{string(api.StatusActive), "active"}, {string(api.StatusDeprecated), "deprecated"},
		{string(api.StatusDisabled), "disabled"},
		{string(api.AccessShared), "shared"}, {string(api.AccessExclusive), "exclusive"},
		{string(api.EffectRead), "read"}, {string(api.EffectIdempotent), "idempotent"},
		{string(api.EffectOnce), "once"},
		{string(api.OrderAsCalled), "as_called"}, {string(api.OrderParallelFirst), "parallel_first"},
		{string(api.ModeStrict), "strict"}, {string(api.ModeLenient), "lenient"},
		{string(api.JournalAttempt), "attempt"}, {string(api.JournalVerify), "verify"},
		{api.NextTaskSummary, "next workflow task, for its size"},
	}
	for _, f := range frozen {
		if f.got != f.want {
			t.Errorf("%q was %q: runs in flight know it by that name", f.got, f.want)
		}
	}
}

func TestActivityNames_AreNoToolNames(t *testing.T) {
	for _, name := range []string{api.PinActivity, api.AdmitActivity, api.ModelActivity,
		api.HostInstanceActivity,
		api.HookActivity} {
		if api.CheckToolName(name) == nil {
			t.Errorf("a tool may be called %s", name)
		}
	}
}

// The message shows what is wrong.
func TestToolNames_AreThoseOfModels(t *testing.T) {
	for _, name := range []string{"a", "read_document", "Get-Weather2", "_", "-",
		strings.Repeat("x", api.MaxToolName)} {
		if err := api.CheckToolName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	const accepted = "; models accept only letters, digits, _ and - (github.search becomes github_search)"
	for name, says := range map[string]string{
		"":                                     "the name is empty",
		"github.search":                        `name "github.search" contains '.'` + accepted,
		"a b":                                  `name "a b" contains ' '` + accepted,
		"a/b":                                  `name "a/b" contains '/'` + accepted,
		"Wetter_für":                           `name "Wetter_für" contains 'ü'` + accepted,
		"a\nb":                                 `name "a\nb" contains '\n'` + accepted,
		"a\xff":                                `name "a\xff" contains '�'` + accepted,
		strings.Repeat("x", api.MaxToolName+1): `name "xxxxxxxxxxxxxxxxxxxx"… has 65 characters; models accept at most 64`,
	} {
		if err := api.CheckToolName(name); err == nil || err.Error() != says {
			t.Errorf("%q: %v, want %s", name, err, says)
		}
	}
}

// The list is in order.
func TestCatalog_FindsToolsByName(t *testing.T) {
	c := api.Catalog{Tools: []api.Tool{{Name: "b", Version: "1.0.0"}, {Name: "a"}}}
	if tool, ok := c.Find("b"); !ok || tool.Version != "1.0.0" {
		t.Errorf("found %+v, %v", tool, ok)
	}
	if tool, ok := c.Find("B"); ok {
		t.Errorf("found %+v", tool)
	}
	if got := c.Names(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("names %v", got)
	}
	if got := (api.Catalog{}).Names(); got == nil || len(got) != 0 {
		t.Errorf("names of nothing: %v", got)
	}
}

func TestCallOfActivity_ReturnsTheCallOfCallActivityID(t *testing.T) {
	for n, id := range []string{"1.1", "1.1~1", "1.1~2"} {
		if got := api.CallActivityID("1.1", n); got != id {
			t.Errorf("activity %d has the ID %s, want %s", n, got, id)
		}
		if got := api.CallOfActivity(id); got != "1.1" {
			t.Errorf("activity %s belongs to call %s", id, got)
		}
	}
}
