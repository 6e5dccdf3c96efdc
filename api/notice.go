package api

import "time"

// NoticeEvent is what a Notice tells of an approval.
type NoticeEvent string

const (
	// NoticeWaiting: a call waits for a person's decision, or a run at a limit does.
	NoticeWaiting NoticeEvent = "waiting"
	// NoticeEscalated: nobody decided in time, and it is open for as long again.
	NoticeEscalated NoticeEvent = "escalated"
	// NoticeDecided: nothing is left to decide.
	NoticeDecided NoticeEvent = "decided"
)

// Notice is what the workers' webhook is told of an approval: the input of NotifyActivity, and the body of its request.
type Notice struct {
	Event NoticeEvent `json:"event"`
	// At is when it happened, by the run's clock: notices may come late, more than once, and in another order.
	At         time.Time `json:"at"`
	WorkflowID string    `json:"workflow_id"`
	// Run is the id of the first execution of the run's chain.
	Run string `json:"run_id"`
	// Call is the call's id, Tool its tool. Where a run is at a limit, Call is LimitCall, and Limit says at which.
	Call  string `json:"call_id"`
	Tool  string `json:"tool,omitempty"`
	Limit string `json:"limit,omitempty"`
	// Text shows the call to people, with sensitive arguments redacted. Reason is why it waits, Rule the policy rule that asks.
	Text   string `json:"text"`
	Reason string `json:"reason"`
	Rule   string `json:"rule,omitempty"`
	Digest string `json:"digest"`
	// Until is how long a decision counts.
	Until time.Time `json:"until"`
	// Decided is set where nothing is left to decide.
	Decided *NoticeDecision `json:"decided,omitempty"`
	// Command is the command line that shows the call and takes the decision; empty where nothing is left to decide.
	Command string `json:"command,omitempty"`
}

// NoticeDecision is what a Notice tells of what was decided, and by whom.
type NoticeDecision struct {
	Decision DecisionKind `json:"decision"`
	By       string       `json:"by,omitempty"`
	Reason   string       `json:"reason,omitempty"`
}

// CommandOf returns the command line that shows what waits and takes the decision; empty where nothing is left to decide.
func (n Notice) CommandOf() string {
	if n.Event == NoticeDecided {
		return ""
	}
	command := "starter approve " + ShellWord(n.WorkflowID) + " " + ShellWord(n.Call)
	if n.Limit != "" {
		command += " --grant " + n.Limit + "=AMOUNT"
	}
	return command
}
