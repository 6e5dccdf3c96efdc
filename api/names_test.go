package api

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// These names are in histories, on servers and in queries: a changed one breaks open runs. To
// retire a name, add a new one and leave the old one here.
func TestNames_AreFrozen(t *testing.T) {
	frozen := []struct{ got, want string }{
		{AgentWorkflow, "switchyard/agent_run"}, {PlanWorkflow, "switchyard/plan_run"},
		{SessionWorkflow, "switchyard/session_run"},
		{SubmitCallsUpdate, "switchyard/submit_calls"},
		{CancelCallUpdate, "switchyard/cancel_call"},
		{LeaveCallUpdate, "switchyard/leave_call"},
		{EndSessionUpdate, "switchyard/end_session"}, {CallStatusQuery, "switchyard/call_status"},
		{CallWorkflow, "switchyard/direct_call"}, {CatalogWorkflow, "switchyard/catalog_report"},
		{ReportCatalogActivity, "switchyard/report_catalog"},
		{WorkerQueue("q", "1@host"), "q/worker/1@host"},
		{BacklogWorkflow, "switchyard/backlog_reader"}, {BacklogQueue("q"), "q/backlog"},
		{ReadBacklogActivity, "switchyard/read_backlog"},
		{BacklogWorkflowID("q"), "switchyard/backlog/q"},
		{InstanceWorkflow, "switchyard/conversation_instance"},
		{JoinInstanceActivity, "switchyard/join_instance"},
		{FindEndedUsersActivity, "switchyard/find_ended_users"},
		{JoinInstanceSignal, "switchyard/join_instance"},
		{LeaveInstanceSignal, "switchyard/leave_instance"},
		{InstanceEndedSignal, "switchyard/instance_ended"},
		{InstanceWorkflowID("q", "", "talk", "shell"),
			"switchyard/instance/q/" + Digest([]byte("talk")) + "/shell"},
		{InstanceWorkflowID("q", "gpu", "talk", "shell"),
			"switchyard/instance/q/" + Digest([]byte("talk")) + "/shell@gpu"},
		{ConversationInstanceQueue("q", "", "talk", "shell"),
			"q/instance/conversation-" + Digest([]byte("talk")) + "/shell"},
		{PinActivity, "switchyard/pin_catalog"}, {AdmitActivity, "switchyard/admit_calls"},
		{ModelActivity, "switchyard/model_step"},
		{HostInstanceActivity, "switchyard/host_instance"}, {HookActivity, "switchyard/run_hook"},
		{NotifyApprovalActivity, "switchyard/notify_approval"},
		{SetupQuery, "switchyard/setup"}, {ConversationQuery, "switchyard/conversation"},
		{SendMessageUpdate, "switchyard/send_message"},
		{SendMessageSignal, "switchyard/send_message"}, {PauseUpdate, "switchyard/pause"},
		{ResumeUpdate, "switchyard/resume"}, {PausedMemo, "SwitchyardPaused"},
		{ForkMemo, "SwitchyardFork"}, {ForkSignal, "switchyard/fork_part"},
		{AttributeAgent, "SwitchyardAgent"}, {AttributeConversation, "SwitchyardConversation"},
		{AttributeKind, "SwitchyardKind"}, {AttributeCaller, "SwitchyardCaller"},
		{AttributeWaiting, "SwitchyardWaiting"},
		{AttributeOutcome, "SwitchyardOutcome"}, {AttributeTools, "SwitchyardTools"},
		{AttributeTurns, "SwitchyardTurns"},
		{AttributeCalls, "SwitchyardCalls"}, {AttributeTokens, "SwitchyardTokens"},
		{AttributeCost, "SwitchyardCost"},
		{DefaultTaskQueue, "switchyard"}, {LaneGeneral, "general"}, {LaneSerial, "serial"},
		{string(PhasePreValidation), "pre_validation"}, {string(PhasePreExecution),
			"pre_execution"}, {string(PhaseExecution), "execution"},
		{string(PhasePostExecution), "post_execution"}, {string(PhaseErrorHandling),
			"error_handling"},
		{string(CallerAgent), "agent"}, {string(CallerPlan), "plan"}, {string(CallerSession),
			"session"}, {string(CallerDirect), "direct"},
		{string(RoleSystem), "system"}, {string(RoleUser), "user"}, {string(RoleAssistant),
			"assistant"}, {string(RoleTool), "tool"},
		{string(RunInvalid), "invalid_run"}, {string(RunModelFailed), "model_failed"},
		{string(RunRefused), "model_refused"}, {string(RunCallsFailed), "calls_failed"},
		{string(RunBlocked), "blocked_by_hook"}, {string(OutcomeCancelled), "cancelled"},
		{string(HookBeforeRun), "before_run"}, {string(HookMemoryRetrieve), "memory_retrieve"},
		{string(HookBeforeCall), "before_call"},
		{string(HookAfterCall), "after_call"}, {string(HookMemoryWrite), "memory_write"},
		{string(HookAfterRun), "after_run"},
		{string(OutcomeAnswered), "answered"}, {string(OutcomeCompleted), "completed"},
		{string(OutcomeLimit), "limit_reached"}, {string(OutcomeFailed), "failed"},
		{string(ProviderOpenAI), "openai"}, {string(ProviderScripted), "scripted"},
		{string(StopAnswer), "stop"}, {string(StopCalls), "tool_calls"},
		{string(StopLength), "length"}, {string(StopRefusal), "refusal"},
		{string(StatusActive), "active"}, {string(StatusDeprecated), "deprecated"},
		{string(StatusDisabled), "disabled"},
		{string(AccessShared), "shared"}, {string(AccessExclusive), "exclusive"},
		{string(EffectRead), "read"}, {string(EffectIdempotent), "idempotent"},
		{string(EffectOnce), "once"},
		{string(OrderAsCalled), "as_called"}, {string(OrderParallelFirst), "parallel_first"},
		{string(ModeStrict), "strict"}, {string(ModeLenient), "lenient"},
	}
	for _, f := range frozen {
		if f.got != f.want {
			t.Errorf("%q was %q: runs in flight know it by that name", f.got, f.want)
		}
	}
}

func TestActivityNames_AreNoToolNames(t *testing.T) {
	for _, name := range []string{PinActivity, AdmitActivity, ModelActivity, HostInstanceActivity,
		HookActivity} {
		if CheckToolName(name) == nil {
			t.Errorf("a tool may be called %s", name)
		}
	}
}

// The base name may be any name.
func TestQueues_ConvertToLanesAndBack(t *testing.T) {
	for _, tt := range []struct{ base, lane, queue string }{
		{"switchyard", LaneGeneral, "switchyard"}, {"switchyard", "", "switchyard"},
		{"switchyard", LaneSerial, "switchyard/serial"},
		{"my/app", "android/emulator-1", "my/app/android/emulator-1"}, {"", "gpu", "/gpu"},
	} {
		if got := Queue(tt.base, tt.lane); got != tt.queue {
			t.Errorf("Queue(%q, %q) = %q, want %q", tt.base, tt.lane, got, tt.queue)
		}
		if got := LaneOf(tt.base, tt.queue); got != cmp.Or(tt.lane, LaneGeneral) {
			t.Errorf("LaneOf(%q, %q) = %q, want %q", tt.base, tt.queue, got, tt.lane)
		}
	}
	for _, queue := range []string{"elsewhere/gpu", "switchyarder", "elsewhere/instance/run/tool"} {
		if got := LaneOf("switchyard", queue); got != queue {
			t.Errorf("the foreign queue %q is lane %q", queue, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z/-]{1,6}`)
		base, lane := name.Draw(t, "base"), name.Draw(t, "lane")
		if got := LaneOf(base, Queue(base, lane)); got != lane {
			t.Fatalf("lane %q of %q came back as %q", lane, base, got)
		}
	})
}

// A run's instance of a tool has its own queue, whose calls count for its lane. No lane can have
// the queue on which instances are requested.
func TestInstanceQueues_BelongToTheirLane(t *testing.T) {
	for _, lane := range []string{LaneGeneral, LaneSerial, "instance", "host_instance"} {
		for _, tool := range []string{"counter", "instance", "host_instance"} {
			queue := InstanceQueue("my/app", lane, "run-1", tool)
			if got := LaneOf("my/app", queue); got != lane || !IsInstanceQueue(queue) {
				t.Errorf("%s is of the lane %q, want %q", queue, got, lane)
			}
		}
		if IsInstanceQueue(Queue("my/app", lane)) || InstanceHostQueue("my/app",
			"general") == Queue("my/app", lane) {
			t.Errorf("the queue of lane %q is taken for another", lane)
		}
	}
	if a, b := InstanceQueue("q", "", "run-1", "counter"), InstanceQueue("q", "", "run-2",
		"counter"); a == b || a != "q/instance/run-1/counter" {
		t.Errorf("the queues of two runs are %q and %q", a, b)
	}
	if got := InstanceHostQueue("q", ""); got != "q/host_instance/general" {
		t.Errorf("holds of the general lane are asked for on %q", got)
	}
}

// The message shows what is wrong.
func TestToolNames_AreThoseOfModels(t *testing.T) {
	for _, name := range []string{"a", "read_document", "Get-Weather2", "_", "-",
		strings.Repeat("x", MaxToolName)} {
		if err := CheckToolName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	const accepted = "; models accept only letters, digits, _ and - (github.search becomes github_search)"
	for name, says := range map[string]string{
		"":                                 "the name is empty",
		"github.search":                    `name "github.search" contains '.'` + accepted,
		"a b":                              `name "a b" contains ' '` + accepted,
		"a/b":                              `name "a/b" contains '/'` + accepted,
		"Wetter_für":                       `name "Wetter_für" contains 'ü'` + accepted,
		"a\nb":                             `name "a\nb" contains '\n'` + accepted,
		"a\xff":                            `name "a\xff" contains '�'` + accepted,
		strings.Repeat("x", MaxToolName+1): `name "xxxxxxxxxxxxxxxxxxxx"… has 65 characters; models accept at most 64`,
	} {
		if err := CheckToolName(name); err == nil || err.Error() != says {
			t.Errorf("%q: %v, want %s", name, err, says)
		}
	}
}

// The list is in order.
func TestCatalog_FindsToolsByName(t *testing.T) {
	c := Catalog{Tools: []Tool{{Name: "b", Version: "1.0.0"}, {Name: "a"}}}
	if tool, ok := c.Find("b"); !ok || tool.Version != "1.0.0" {
		t.Errorf("found %+v, %v", tool, ok)
	}
	if tool, ok := c.Find("B"); ok {
		t.Errorf("found %+v", tool)
	}
	if got := c.Names(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("names %v", got)
	}
	if got := (Catalog{}).Names(); got == nil || len(got) != 0 {
		t.Errorf("names of nothing: %v", got)
	}
}

func TestCallOfActivity_ReturnsTheCallOfCallActivityID(t *testing.T) {
	for n, id := range []string{"1.1", "1.1~1", "1.1~2"} {
		if got := CallActivityID("1.1", n); got != id {
			t.Errorf("activity %d has the ID %s, want %s", n, got, id)
		}
		if got := CallOfActivity(id); got != "1.1" {
			t.Errorf("activity %s belongs to call %s", id, got)
		}
	}
}
