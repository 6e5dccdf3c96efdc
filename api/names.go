package api

import (
	"cmp"
	"strings"
)

// Names that are written into workflow histories. They never change: a renamed one breaks the replay of every run in
// flight. Retire a name by adding a new one beside it.
const (
	// AgentWorkflow runs an agent: model step, its tool calls, results, again.
	AgentWorkflow = "switchyard/agent_run"
	// PlanWorkflow runs a plan: a list of calls with dependencies, no model.
	PlanWorkflow = "switchyard/plan_run"
	// CallWorkflow runs one call of one tool.
	CallWorkflow = "switchyard/direct_call"
	// ScheduledWorkflow starts an agent's run that goes on with a conversation, on behalf of a schedule: schedules cannot start
	// runs under an id of ours. It is no run.
	ScheduledWorkflow = "switchyard/scheduled_run"
	// CatalogWorkflow asks workers which tools they hold; it is no run.
	CatalogWorkflow = "switchyard/catalog_report"
	// VerdictWorkflow carries a person's RunVerdict on a run in its memo, and does nothing: a run that is over takes nothing in
	// any more. It is no run.
	EvaluationWorkflow = "switchyard/run_evaluation"
	// LaneWorkflow keeps a lane's slots with workers, KeysWorkflow knows which keys of a keyed lane are open; neither is a run.
	LaneSlotsWorkflow = "switchyard/lane_slots"
	LaneKeysWorkflow  = "switchyard/lane_keys"

	// PinActivity is the local activity that fixes a run's tools. The slash keeps it, and those below, apart from
	// tools, whose activity type is the tool's name.
	PinActivity = "switchyard/pin_catalog"
	// AdmitActivity is the local activity that decides which calls of a turn may run.
	AdmitActivity = "switchyard/admit_calls"
	// ModelActivity is the activity of a model step.
	ModelActivity = "switchyard/model_step"
	// HoldActivity keeps the instance of a stateful tool on one worker for as long as its run needs it.
	HostInstanceActivity = "switchyard/host_instance"
	// SlotsActivity serves a lane with one group of its slots, for as long as the worker can prove that it is the one that
	// does.
	ServeSlotsActivity = "switchyard/serve_slots"
	// OpenActivity is the local activity that has a key of a keyed lane served, for a call that starts long after it was
	// admitted.
	OpenKeyActivity = "switchyard/open_key"
	// SettleActivity is the local activity that takes what no tool's activity made, a sub-agent's answer, through the
	// phase post_execution.
	FinalizeResultActivity = "switchyard/finalize_result"
	// HookActivity runs one hook of a run: before it begins, or when it is over.
	HookActivity = "switchyard/run_hook"
	// ReplyActivity is the local activity that checks a person's reply against the question's schema.
	CheckReplyActivity = "switchyard/check_reply"
	// EditActivity is the local activity that admits a call anew with the arguments that a person gave it.
	AdmitEditActivity = "switchyard/admit_edit"
	// LimitActivity is the local activity that says what a person is asked where a run has reached a limit.
	DescribeLimitActivity = "switchyard/describe_limit"
	// NotifyActivity tells the workers' webhook of a call that waits for approval, a Notice.
	NotifyApprovalActivity = "switchyard/notify_approval"
	// RecallActivity fetches the messages of a conversation's earlier runs.
	LoadConversationActivity = "switchyard/load_conversation"
	// CatalogActivity answers with the CatalogAnswer of the worker on whose queue it is asked.
	ReportCatalogActivity = "switchyard/report_catalog"
	// LanesActivity answers with the WorkerLanes of the worker on whose queue it is asked.
	ReportLanesActivity = "switchyard/report_lanes"

	// SetupQuery answers with the run's Setup.
	SetupQuery = "switchyard/setup"
	// ConversationQuery takes a first message's index and answers with a Page of messages from there.
	ConversationQuery = "switchyard/conversation"
	// QuestionsQuery answers with the run's open questions, a []Question, oldest first.
	QuestionsQuery = "switchyard/open_questions"

	// ApprovalsQuery answers with the calls that wait for approval, a []Approval, oldest first.
	ApprovalsQuery = "switchyard/open_approvals"

	// HoldersSignal tells LaneWorkflow how the lane is configured now, a Lane; KeySignal tells KeysWorkflow of a key, a
	// KeyOrder.
	ConfigureLaneSignal = "switchyard/configure_lane"
	OpenKeySignal       = "switchyard/open_key"

	// AskUpdate takes a Question of a running call and answers, when a person has replied, with the Reply.
	AskQuestionUpdate = "switchyard/ask_question"
	// ReplyUpdate takes a Reply to an open question.
	AnswerQuestionUpdate = "switchyard/answer_question"
	// DecideUpdate takes a Decision on a call that waits for approval.
	DecideApprovalUpdate = "switchyard/decide_approval"
	// SendUpdate takes a Sent, a user's message to a running agent; SendSignal does where the server takes no updates, as of
	// a run that it holds paused.
	SendMessageUpdate = "switchyard/send_message"
	SendMessageSignal = "switchyard/send_message"
	// PauseUpdate and ResumeUpdate take a Pause: who has the run pause, or go on, and why.
	PauseUpdate  = "switchyard/pause"
	ResumeUpdate = "switchyard/resume"

	// PausedMemo is the field of a run's memo that has the Pause of a paused run.
	PausedMemo = "SwitchyardPaused"
	// ApprovalsMemo is the field of a run's memo that says since when calls of it wait for approval.
	ApprovalsMemo = "SwitchyardApprovals"
	// VerdictMemo is the field of a VerdictWorkflow's memo that has the RunVerdict.
	EvaluationMemo = "SwitchyardEvaluation"

	// ModelOverflow is the type of a model step's failure where the conversation is longer than the model reads.
	ModelOverflow = "model_overflow"
)

// Search attributes of a run. The devserver registers them; `starter setup` does on any other server.
const (
	// These four are keywords, and set when the run is started.
	AttributeAgent        = "SwitchyardAgent"
	AttributeConversation = "SwitchyardConversation"
	AttributeKind         = "SwitchyardKind"
	AttributeCaller       = "SwitchyardCaller"

	// AttributeWaiting is a boolean: the run waits for a person, who approves a call, answers a question or grants more of a limit.
	AttributeWaiting = "SwitchyardWaiting"
	// AttributeOutcome is a keyword, an Outcome; a run that has not ended has none.
	AttributeOutcome = "SwitchyardOutcome"
	// AttributeTools is a list of keywords: the tools that were called, those of sub-agents among them, and OtherTools.
	AttributeTools = "SwitchyardTools"
	// Turns, calls and tokens are whole numbers, the cost is a number, as in Usage.
	AttributeTurns  = "SwitchyardTurns"
	AttributeCalls  = "SwitchyardCalls"
	AttributeTokens = "SwitchyardTokens"
	AttributeCost   = "SwitchyardCost"
)

// MaxAttribute bounds the value of a search attribute, in bytes; SQL stores take 255 characters.
const MaxAttribute = 250

// OtherTools stands in AttributeTools where a run has called tools besides those that are listed.
const OtherTools = "..."

// DefaultTaskQueue is the task queue of workflows and of the general lane where nothing else is configured.
const DefaultTaskQueue = "switchyard"

// Lanes that exist without being configured.
const (
	// LaneGeneral runs calls in parallel. It is the workflows' own task queue, so that the server may hand a call to
	// the worker that asked for it without a detour (eager dispatch).
	LaneGeneral = "general"
	// LaneSerial runs one call at a time, over all workers.
	LaneSerial = "serial"
	// LaneInline runs calls inside the workflow task that handles the model's answer, on the worker that has the run. It has
	// no task queue.
	LaneInline = "inline"
)

// Queue returns the task queue of a lane for runs whose workflows live on the task queue base: base itself for the
// general lane, base/lane for every other.
func Queue(base, lane string) string {
	if lane == LaneGeneral || lane == "" {
		return base
	}
	return base + "/" + lane
}

// HoldQueue returns the task queue on which the workers of a lane are asked to hold instances of stateful tools. It is
// not the lane's own: a hold lasts as long as its run, and would keep a place of the lane from every other call.
func InstanceHostQueue(base, lane string) string {
	return base + "/hold/" + cmp.Or(lane, LaneGeneral)
}

// SlotsQueue returns the task queue on which the workers of a lane are asked to hold groups of its slots.
func SlotsQueue(base, lane string) string { return base + "/slots/" + lane }

// BypassQueue returns the task queue of those calls of a lane to which its rules do not apply. All workers that serve the
// lane poll it.
func BypassQueue(base, lane string) string { return base + "/bypass/" + lane }

// LaneWorkflowID returns the workflow id of a lane's LaneWorkflow, KeysWorkflowID that of its KeysWorkflow.
func LaneWorkflowID(base, lane string) string { return "switchyard/lane/" + base + "/" + lane }

// KeysWorkflowID is described with LaneWorkflowID.
func KeysWorkflowID(base, lane string) string { return LaneWorkflowID(base, lane) + "/keys" }

// verdictPart begins the workflow ids of verdicts.
const evaluationPart = "switchyard/evaluation/"

// VerdictWorkflowID returns the workflow id of the verdicts on a run: runID is that of the last execution of its chain. JudgedRun
// is its inverse.
func EvaluationWorkflowID(runID string) string { return evaluationPart + runID }

// JudgedRun is described with VerdictWorkflowID.
func EvaluatedRun(workflowID string) string { return strings.TrimPrefix(workflowID, evaluationPart) }

// instancePart stands in a task queue's name between the lane's queue and whose instance it leads to.
const instancePart = "/instance/"

// InstanceQueue returns the task queue that leads to a run's instance of a stateful tool: only the worker that holds the
// instance polls it. lane is the tool's.
func InstanceQueue(base, lane, run, tool string) string {
	return Queue(base, lane) + instancePart + run + "/" + tool
}

// IsInstanceQueue reports whether a task queue leads to an instance.
func IsInstanceQueue(queue string) bool { return strings.Contains(queue, instancePart) }

// WorkerQueue returns the task queue on which one worker, by its identity, is asked about itself.
func WorkerQueue(base, identity string) string { return base + "/worker/" + identity }

// LaneOf is the inverse of Queue: the lane whose task queue is queue, for runs whose workflows live on base. The queue of
// an instance belongs to its tool's lane. A queue that does not derive from base is returned as it is.
func LaneOf(base, queue string) string {
	rest, ok := strings.CutPrefix(queue, base)
	if i := strings.LastIndex(rest, instancePart); ok && i >= 0 {
		rest = rest[:i]
	}
	switch {
	case !ok:
		return queue
	case rest == "":
		return LaneGeneral
	}
	lane, ok := strings.CutPrefix(rest, "/")
	if !ok {
		return queue
	}
	return lane
}
