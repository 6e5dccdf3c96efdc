package api

import "time"

// NoticeEvent is what a Notice reports about an approval.
type NoticeEvent string

const (
	// NoticeWaiting: a call, or a run at a limit, waits for a person's decision.
	NoticeWaiting NoticeEvent = "waiting"
	// NoticeEscalated: there was no decision in time, and the wait starts again.
	NoticeEscalated NoticeEvent = "escalated"
	// NoticeDecided: there is nothing left to decide.
	NoticeDecided NoticeEvent = "decided"
)

// Notice is what the workers' webhook receives about an approval: the input of
// NotifyApprovalActivity and the body of its request.
type Notice struct {
	Event NoticeEvent `json:"event"`
	// At is the time by the run's clock. Notices may arrive late, repeatedly and out of order.
	At         time.Time `json:"at"`
	WorkflowID string    `json:"workflow_id"`
	// Run is the id of the first execution of the run's chain.
	Run string `json:"run_id"`
	// Call is the id of the call and Tool its tool. For a run at a limit Call is LimitCall, and
	// Limit names the limit.
	Call  string `json:"call_id"`
	Tool  string `json:"tool,omitempty"`
	Limit string `json:"limit,omitempty"`
	// Text shows the call with sensitive arguments redacted. Reason is why it waits, Rule the
	// policy rule that asks.
	Text   string `json:"text"`
	Reason string `json:"reason"`
	Rule   string `json:"rule,omitempty"`
	Digest string `json:"digest"`
	// Until is the end of the time for a decision.
	Until time.Time `json:"until"`
	// Decided is set if there is nothing left to decide.
	Decided *NoticeDecision `json:"decided,omitempty"`
	// Command is the command line that shows the call and decides it; empty if there is nothing
	// left to decide.
	Command string `json:"command,omitempty"`
}

// NoticeDecision is the decision and who made it.
type NoticeDecision struct {
	Decision DecisionKind `json:"decision"`
	By       string       `json:"by,omitempty"`
	Reason   string       `json:"reason,omitempty"`
}

// CommandOf returns the command line that shows what waits and decides it; empty if there is
// nothing left to decide.
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
