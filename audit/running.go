package audit

import (
	"context"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/queues"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
)

// Kind is the kind of a Running.
type Kind string

// The kinds of a Running.
const (
	KindCall Kind = "call"
	KindStep Kind = "model_step"
	// KindHook is a hook of the run, before it begins or after it ends.
	KindHook Kind = "hook"
	// KindInstance is the use of an instance of the conversation that the run does not get.
	KindInstance Kind = "instance"
	// KindRun is the next workflow task of the run.
	KindRun Kind = "run"
)

// State is the state of a Running.
type State string

// The states of a Running.
const (
	StateWaiting        State = "waiting" // for a worker of its lane, or for a slot
	StateRunning        State = "running"
	StateBackingOff     State = "backing_off"     // between two attempts
	StateCancelling     State = "cancelling"      // asked to stop, still running
	StatePaused         State = "paused"          // by an operator
	StateAwaitingAnswer State = "awaiting_answer" // see OpenQuestions
)

// Running is a call, a model step, a hook or the next workflow task of a run that runs or waits
// now.
type Running struct {
	// Kind is what runs or waits.
	Kind Kind `json:"kind"`
	// ID is the ID of the call, of the model step ("turn-3", "summary") or of the hook
	// ("before_run-1"), or the name of the instance; empty for the workflow task.
	ID string `json:"id,omitempty"`
	// Tool is set for calls.
	Tool string `json:"tool,omitempty"`
	// Lane is that of the call or step, and Queue its task queue.
	Lane  string `json:"lane,omitempty"`
	Queue string `json:"queue,omitempty"`
	// State is what it does.
	State State `json:"state"`
	// Attempt counts from 1. MaxAttempts of zero means no limit.
	Attempt     int `json:"attempt,omitempty"`
	MaxAttempts int `json:"max_attempts,omitempty"`
	// Since is when the state began.
	Since time.Time `json:"since,omitzero"`
	// Started is the start of the last attempt, if there was one.
	Started time.Time `json:"started,omitzero"`
	// NextAttempt is when the next attempt starts, if the state is backing off.
	NextAttempt time.Time `json:"next_attempt,omitzero"`
	// Worker is the identity of the worker of the last attempt.
	Worker string `json:"worker,omitempty"`
	// LastFailure is why the last attempt failed.
	LastFailure string `json:"last_failure,omitempty"`
	// Child is the run of the sub-agent that executes a call. Tool, Lane and Since are unknown
	// then.
	Child *api.ChildRun `json:"child,omitempty"`
	// Questions are the IDs of the open questions of a call.
	Questions []string `json:"questions,omitempty"`
	// Progress is the last progress report of the tool, at most a second old; nil if there is none.
	Progress *api.Progress `json:"progress,omitempty"`
	// Live is the end of the text of a model step so far.
	Live *api.Live `json:"live,omitempty"`
}

// Pending returns what runs or waits in a run now; nothing for a closed run. runID is any execution
// of the run; empty for the latest run with that workflow ID. Errors: ErrNotFound, ErrNotARun,
// those of ctx and of the server.
func Pending(ctx context.Context, c client.Client, workflowID, runID string) ([]Running, error) {
	r, err := describeLatest(ctx, c, workflowID, runID)
	info := r.GetWorkflowExecutionInfo()
	if err != nil || info.GetCloseTime() != nil {
		return nil, err
	}
	base := info.GetTaskQueue()
	var running []Running
	if task := r.GetPendingWorkflowTask(); task != nil {
		running = append(running, runningDecision(task, base))
	}
	for _, a := range r.GetPendingActivities() {
		if waitsFor(a) {
			running = append(running, runningActivity(a, base))
		}
	}
	for _, c := range r.GetPendingChildren() {
		if child, ours := runningChild(workflowID, c); ours {
			running = append(running, child)
		}
	}
	return running, nil
}

// waitsFor reports whether the run waits for the activity. To join an instance takes a moment, so
// it is reported only if it failed.
func waitsFor(a *workflowpb.PendingActivityInfo) bool {
	switch a.GetActivityType().GetName() {
	case api.HostInstanceActivity, api.CloseInstanceActivity, api.NotifyApprovalActivity:
		return false
	case api.JoinInstanceActivity:
		return a.GetLastFailure() != nil
	}
	return true
}

func runningDecision(t *workflowpb.PendingWorkflowTaskInfo, base string) Running {
	r := Running{
		Kind:    KindRun,
		Lane:    api.LaneGeneral,
		Queue:   base,
		State:   StateWaiting,
		Attempt: int(t.GetAttempt()),
		Since:   pb.Time(t.GetScheduledTime()),
		Started: pb.Time(t.GetStartedTime()),
	}
	if t.GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_STARTED {
		r.State, r.Since = StateRunning, r.Started
	}
	return r
}

func runningActivity(a *workflowpb.PendingActivityInfo, base string) Running {
	r := Running{Kind: KindCall, ID: a.GetActivityId(), Tool: a.GetActivityType().GetName(),
		Queue:   a.GetActivityOptions().GetTaskQueue().GetName(),
		Attempt: int(a.GetAttempt()), MaxAttempts: int(a.GetMaximumAttempts()),
		Started: pb.Time(
			a.GetLastStartedTime()), NextAttempt: pb.Time(a.GetNextAttemptScheduleTime()),
		Worker: a.GetLastWorkerIdentity(), LastFailure: pb.FailureMessage(a.GetLastFailure())}
	switch {
	case history.IsTool(r.Tool):
		r.ID, r.Progress = api.CallOfActivity(r.ID), progress(a.GetHeartbeatDetails())
	case r.Tool == api.JoinInstanceActivity:
		r.Kind, r.Tool, r.ID = KindInstance, "", api.JoinedInstance(r.ID)
	case r.Tool == api.HookActivity:
		r.Kind, r.Tool = KindHook, ""
	default:
		r.Kind, r.Tool, r.Live = KindStep, "", live(a)
	}
	if r.Queue != "" {
		r.Lane = queues.LaneName(base, r.Queue)
	}
	r.State, r.Since = activityState(a)
	return r
}

// activityState returns the state and when it began.
func activityState(a *workflowpb.PendingActivityInfo) (State, time.Time) {
	switch a.GetState() {
	case enumspb.PENDING_ACTIVITY_STATE_STARTED:
		if waitsWithHolder(a) {
			return StateWaiting, pb.Time(a.GetScheduledTime())
		}
		return StateRunning, pb.Time(a.GetLastStartedTime())
	case enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED:
		return StateCancelling, pb.Time(a.GetLastStartedTime())
	case enumspb.PENDING_ACTIVITY_STATE_PAUSED, enumspb.PENDING_ACTIVITY_STATE_PAUSE_REQUESTED:
		return StatePaused, pb.Time(a.GetPauseInfo().GetPauseTime())
	}
	if a.GetNextAttemptScheduleTime() != nil {
		return StateBackingOff, pb.Time(a.GetLastAttemptCompleteTime())
	}
	return StateWaiting, pb.Time(a.GetScheduledTime())
}

// waitsWithHolder reports whether a worker has a call and lets it wait for a slot of its lane.
func waitsWithHolder(a *workflowpb.PendingActivityInfo) bool {
	var w api.Heartbeat
	return len(a.GetHeartbeatDetails().GetPayloads()) > 0 &&
		pb.Decode(a.GetHeartbeatDetails(), &w) == nil &&
		w.Waiting
}

// progress returns the progress report of the last heartbeat; nil if there is none.
func progress(details *commonpb.Payloads) *api.Progress {
	var p api.Progress
	if len(details.GetPayloads()) == 0 || pb.Decode(details, &p) != nil || p == (api.Progress{}) {
		return nil
	}
	return &p
}

// runningChild returns a call that a sub-agent executes. The server does not know its tool and
// start.
func runningChild(parent string, c *workflowpb.PendingChildExecutionInfo) (Running, bool) {
	id, ours := api.ChildCallID(parent, c.GetWorkflowId())
	r := Running{
		Kind:    KindCall,
		ID:      id,
		State:   StateRunning,
		Attempt: 1,
		Child:   &api.ChildRun{WorkflowID: c.GetWorkflowId(), RunID: c.GetRunId()},
	}
	if r.Child.RunID == "" {
		r.State = StateWaiting
	}
	return r, ours
}
