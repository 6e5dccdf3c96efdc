// Package api defines the terms that all parts of Switchyard share: tools, calls, results, runs,
// events, call records, the closed set of errors, and every name that ends up in a workflow
// history.
//
// It imports internal/value alone and nothing outside the standard library, so that workflow code
// can rely on it without depending on anything whose upgrade could change a decision.
package api

import (
	"strconv"
	"strings"
	"time"
)

// Registered names. They are written into histories, so they never change after the first release:
// to retire a name, add a new one beside it. Every name is "switchyard/" and snake case: a noun for
// workflows and queries, a verb and a noun for activities, signals and updates. The slash separates
// them from tools, whose activity type is the tool's name.
const (
	// AgentWorkflow runs an agent: a model step, the tool calls it asks for, their results, and
	// again.
	AgentWorkflow = "switchyard/agent_run"
	// PlanWorkflow runs a plan: a list of calls with dependencies, without a model.
	PlanWorkflow = "switchyard/plan_run"
	// CallWorkflow runs one call of one tool.
	CallWorkflow = "switchyard/direct_call"
	// SessionWorkflow makes the calls that a client submits, one by one, until the session ends.
	SessionWorkflow = "switchyard/session_run"
	// ScheduledWorkflow starts a run in an existing conversation for a schedule, because a schedule
	// cannot choose the workflow id of what it starts. It is not a run.
	ScheduledWorkflow = "switchyard/scheduled_run"
	// EvaluationWorkflow has a person's RunEvaluation of a finished run in its memo and does
	// nothing else, because a closed run accepts no input. It is not a run.
	EvaluationWorkflow = "switchyard/run_evaluation"
	// LaneSlotsWorkflow assigns the slots of a lane to workers. It is not a run.
	LaneSlotsWorkflow = "switchyard/lane_slots"
	// InstanceWorkflow hosts an instance for the runs of a conversation. It is not a run.
	InstanceWorkflow = "switchyard/conversation_instance"
	// LedgerWorkflow counts the calls of a principal or a conversation for policies, as a
	// ledgerrules.State. It is not a run.
	LedgerWorkflow = "switchyard/call_ledger"

	// PinActivity, a local activity, fixes the tools of a run.
	PinActivity = "switchyard/pin_catalog"
	// AdmitActivity, a local activity, decides which calls of a turn may run.
	AdmitActivity = "switchyard/admit_calls"
	// ModelActivity is a model step.
	ModelActivity = "switchyard/model_step"
	// HostInstanceActivity hosts the instance of a stateful tool on one worker for as long as its
	// run needs it.
	HostInstanceActivity = "switchyard/host_instance"
	// CloseInstanceActivity takes a request to close an instance to the worker that hosts an
	// instance: the run is ending, or closes the instance on demand. Without it the worker would
	// learn of the end of a run from its next heartbeat only.
	CloseInstanceActivity = "switchyard/close_instance"
	// JoinInstanceActivity takes the request to join of a run to the InstanceWorkflow of its
	// conversation, and starts that if it does not run.
	JoinInstanceActivity = "switchyard/join_instance"
	// FindEndedUsersActivity takes the []instancerules.User of an InstanceWorkflow and returns
	// those whose runs have ended.
	FindEndedUsersActivity = "switchyard/find_ended_users"
	// ServeSlotsActivity serves one group of a lane's slots for as long as the worker can prove its
	// lease.
	ServeSlotsActivity = "switchyard/serve_slots"
	// FinalizeResultActivity, a local activity, takes a result that no tool's activity returned,
	// such as a sub-agent's answer, through the phase post_execution.
	FinalizeResultActivity = "switchyard/finalize_result"
	// HookActivity runs one hook of a run, before it starts or after it ended.
	HookActivity = "switchyard/run_hook"
	// CheckReplyActivity, a local activity, checks a person's reply against the question's schema.
	CheckReplyActivity = "switchyard/check_reply"
	// AdmitEditActivity, a local activity, admits a call again with the arguments that an approver
	// gave it.
	AdmitEditActivity = "switchyard/admit_edit"
	// DescribeLimitActivity, a local activity, returns the question to a person when a run reaches
	// a limit.
	DescribeLimitActivity = "switchyard/describe_limit"
	// CloseReservationsActivity, a local activity, tells ledgers what became of the calls that they
	// count.
	CloseReservationsActivity = "switchyard/close_reservations"
	// NotifyApprovalActivity sends a Notice of a call that waits for approval to the workers'
	// webhook.
	NotifyApprovalActivity = "switchyard/notify_approval"
	// LoadConversationActivity loads the messages of a conversation's earlier runs.
	LoadConversationActivity = "switchyard/load_conversation"
	// ReportCatalogActivity returns the catalog of the worker whose queue it is scheduled on.
	ReportCatalogActivity = "switchyard/report_catalog"
	// ReportLanesActivity returns the counts of the lanes of the worker whose queue it is scheduled
	// on.
	ReportLanesActivity = "switchyard/report_lanes"
	// ReadBacklogActivity counts the namespace's open runs for the metrics of one worker, until
	// that worker stops.
	ReadBacklogActivity = "switchyard/read_backlog"

	// SetupQuery returns the run's Setup.
	SetupQuery = "switchyard/setup"
	// VariablesQuery returns the run's variables.
	VariablesQuery = "switchyard/variables"
	// ConversationQuery takes the index of a message and returns a Page of messages from there on.
	ConversationQuery = "switchyard/conversation"
	// QuestionsQuery returns the run's open questions, a []Question, oldest first.
	QuestionsQuery = "switchyard/open_questions"
	// ApprovalsQuery returns the calls that wait for approval, an []Approval, oldest first.
	ApprovalsQuery = "switchyard/open_approvals"
	// CallStatusQuery takes the ID of a session's call and returns its SessionCallStatus.
	CallStatusQuery = "switchyard/call_status"

	// ConfigureLaneSignal sends LaneSlotsWorkflow the lane's present configuration, a Lane.
	ConfigureLaneSignal = "switchyard/configure_lane"
	// JoinInstanceSignal and LeaveInstanceSignal tell an InstanceWorkflow which run, an
	// instancerules.User, begins or ends to use its instance.
	JoinInstanceSignal  = "switchyard/join_instance"
	LeaveInstanceSignal = "switchyard/leave_instance"
	// InstanceEndedSignal tells a run, by an instancerules.Ended, what became of an instance that
	// its conversation has.
	InstanceEndedSignal = "switchyard/instance_ended"

	// TellLedgerSignal takes ledgerrules.News to a LedgerWorkflow: which calls have ended, and what
	// model steps of a principal used. PrincipalUsageQuery returns the sums of these, a
	// PrincipalUsage.
	TellLedgerSignal    = "switchyard/tell_ledger"
	PrincipalUsageQuery = "switchyard/principal_usage"

	// ReserveCallsUpdate takes a []ledgerrules.Request to a LedgerWorkflow and returns a
	// []ledgerrules.Answer, which answers the first of them.
	ReserveCallsUpdate = "switchyard/reserve_calls"
	// AskQuestionUpdate takes a Question of a running call and returns the Reply once a person has
	// given it.
	AskQuestionUpdate = "switchyard/ask_question"
	// AnswerQuestionUpdate takes a Reply to an open question.
	AnswerQuestionUpdate = "switchyard/answer_question"
	// DecideApprovalUpdate takes a Decision about a call that waits for approval.
	DecideApprovalUpdate = "switchyard/decide_approval"
	// SendMessageUpdate takes a Sent, a user's message to a running agent.
	SendMessageUpdate = "switchyard/send_message"
	// SendMessageSignal takes a Sent where the server accepts no updates: while it holds the run
	// paused.
	SendMessageSignal = "switchyard/send_message"
	// PauseUpdate and ResumeUpdate take a Pause: who pauses or resumes the run, and why.
	PauseUpdate  = "switchyard/pause"
	ResumeUpdate = "switchyard/resume"
	// CloseInstanceUpdate takes a CloseInstance: which instance of the run to close. An
	// InstanceWorkflow takes it as well.
	CloseInstanceUpdate = "switchyard/close_instance"
	// SubmitCallsUpdate takes a list of SessionCall to a session. It returns the list of their
	// SessionCallStatus, which is shorter if the session does not take the others now.
	SubmitCallsUpdate = "switchyard/submit_calls"
	// CancelCallUpdate takes a CancelCall of a session's call, LeaveCallUpdate a LeaveCall, and
	// EndSessionUpdate an EndSession.
	CancelCallUpdate = "switchyard/cancel_call"
	LeaveCallUpdate  = "switchyard/leave_call"
	EndSessionUpdate = "switchyard/end_session"

	// PausedMemo is the memo field with the Pause of a paused run.
	PausedMemo = "SwitchyardPaused"
	// ApprovalsMemo is the memo field with the time since when calls of the run wait for approval.
	ApprovalsMemo = "SwitchyardApprovals"
	// EvaluationMemo is the memo field of an EvaluationWorkflow with the RunEvaluation.
	EvaluationMemo = "SwitchyardEvaluation"

	// ModelOverflow is the failure type of a model step whose conversation is longer than the
	// model's window.
	ModelOverflow = "model_overflow"
)

// Search attributes of a run. The devserver registers them; on any other server `starter setup`
// does.
const (
	// AttributeAgent and the next three are keywords, set when the run starts.
	AttributeAgent        = "SwitchyardAgent"
	AttributeConversation = "SwitchyardConversation"
	AttributeKind         = "SwitchyardKind"
	AttributeCaller       = "SwitchyardCaller"

	// AttributeWaiting, a boolean, says that the run waits for a person: for an approval, an answer
	// or a grant.
	AttributeWaiting = "SwitchyardWaiting"
	// AttributeOutcome, a keyword, is the Outcome of a run that has ended.
	AttributeOutcome = "SwitchyardOutcome"
	// AttributeTools, a list of keywords, names the tools that the run and its sub-agents called,
	// and OtherTools.
	AttributeTools = "SwitchyardTools"
	// AttributeTurns, AttributeCalls and AttributeTokens are integers, AttributeCost is a double.
	AttributeTurns  = "SwitchyardTurns"
	AttributeCalls  = "SwitchyardCalls"
	AttributeTokens = "SwitchyardTokens"
	AttributeCost   = "SwitchyardCost"
)

// MaxAttribute bounds the value of a search attribute in bytes; SQL stores accept 255 characters.
const MaxAttribute = 250

// OtherTools in AttributeTools says that the run called more tools than the list holds.
const OtherTools = "..."

// DefaultTaskQueue is the default task queue of workflows and of the general lane.
const DefaultTaskQueue = "switchyard"

// WorkflowTaskTimeout is that of all runs. A worker that dies inside a workflow task is noticed
// after this time at the latest. The replay of the largest history takes about half of it
// (docs/failures.md). Longer tasks, which execute inline calls, report to the server before it
// passes.
const WorkflowTaskTimeout = 5 * time.Second

// Built-in lanes.
const (
	// LaneGeneral runs calls in parallel. It is the task queue of the workflows, so that the server
	// can return an activity with the workflow task that scheduled it (eager dispatch).
	LaneGeneral = "general"
	// LaneSerial runs one call at a time over all workers.
	LaneSerial = "serial"
	// LaneInline runs calls as local activities, inside the workflow task that handles the model's
	// answer. It has no task queue.
	LaneInline = "inline"
)

// attemptMark precedes the number in a CallActivityID. No ID of a call contains it.
const attemptMark = "~"

// CallActivityID returns the ID of the activity of a call: that of the call, with n unless n is 0.
// n counts the activities of the call whose IDs the run cannot use again.
func CallActivityID(callID string, n int) string {
	if n == 0 {
		return callID
	}
	return callID + attemptMark + strconv.Itoa(n)
}

// CallOfActivity is the inverse of CallActivityID: the ID of the call.
func CallOfActivity(activityID string) string {
	callID, _, _ := strings.Cut(activityID, attemptMark)
	return callID
}

// joinPart is the prefix of the ids of JoinInstanceActivity.
const joinPart = "join/"

// JoinActivityID returns the id of a JoinInstanceActivity. name begins with that of the instance.
func JoinActivityID(name string) string { return joinPart + name }

// JoinedInstance returns the name of the instance that a JoinInstanceActivity is about.
func JoinedInstance(activityID string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(activityID, joinPart), "/")
	return name
}

// LaneWorkflowID returns the id of a lane's LaneSlotsWorkflow.
func LaneWorkflowID(base, lane string) string { return "switchyard/lane/" + base + "/" + lane }

// evaluationPart is the prefix of the ids of evaluation workflows.
const evaluationPart = "switchyard/evaluation/"

// EvaluationWorkflowID returns the id of the workflow with the evaluations of a run. runID is the
// id of the last execution of its chain.
func EvaluationWorkflowID(runID string) string { return evaluationPart + runID }

// EvaluatedRun is the inverse of EvaluationWorkflowID.
func EvaluatedRun(workflowID string) string {
	return strings.TrimPrefix(workflowID,
		evaluationPart)
}

// InstanceWorkflowPrefix begins the ids of the InstanceWorkflows of a conversation.
func InstanceWorkflowPrefix(base, conversation string) string {
	return "switchyard/instance/" + base + "/" + Digest([]byte(conversation)) + "/"
}

// InstanceWorkflowID returns the id of the InstanceWorkflow of a conversation's instance. lane is
// that of its tools: on another lane it is another instance.
func InstanceWorkflowID(base, lane, conversation, instance string) string {
	id := InstanceWorkflowPrefix(base, conversation) + instance
	if lane == "" || lane == LaneGeneral {
		return id
	}
	return id + "@" + lane
}
