package switchyard

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/runstart"
)

// Types of what runs ask people, and of what people reply.
type (
	// Approval is a call that waits for approval, and the run it belongs to.
	Approval = audit.RunApproval
	// Question is an open question, and the run that asks it.
	Question = audit.RunQuestion
	// UnreadError lists open runs that could not be read. The others are part of the result.
	UnreadError = audit.UnreadError
	// Decision is a person's decision about a call that waits for approval.
	Decision = api.Decision
	// Reply is a person's reply to a question.
	Reply = api.Reply
)

// Approvals returns the calls of all open runs that wait for approval, oldest first. It needs no
// worker. The server lists a new run about a second after its start.
//
// Errors: *UnreadError, with the approvals of the other runs; *RequestError of the types
// server_unreachable and server_refused, and that of ctx.
func (c *Client) Approvals(ctx context.Context) ([]Approval, error) {
	list, err := audit.OfOpenRuns(ctx, c.temporal, c.namespace.Name, audit.Approvals)
	slices.SortStableFunc(list, func(x, y Approval) int { return x.Asked.Compare(y.Asked) })
	return list, openError(ctx, err)
}

// Questions returns the open questions of all open runs, oldest first. Errors are those of
// Approvals.
func (c *Client) Questions(ctx context.Context) ([]Question, error) {
	list, err := audit.OfOpenRuns(ctx, c.temporal, c.namespace.Name, audit.Questions)
	slices.SortStableFunc(list, func(x, y Question) int { return x.Asked.Compare(y.Asked) })
	return list, openError(ctx, err)
}

// Waiting returns what Approvals and Questions return, and reads the open runs once for both.
// Errors are those of Approvals; an *UnreadError comes with what the other runs wait for.
func (c *Client) Waiting(ctx context.Context) ([]Approval, []Question, error) {
	runs, err := audit.OfOpenRuns(ctx, c.temporal, c.namespace.Name, audit.ReadWaits)
	var approvals []Approval
	var questions []Question
	for _, r := range runs {
		approvals = append(approvals, r.Approvals...)
		questions = append(questions, r.Questions...)
	}
	slices.SortStableFunc(approvals, func(x, y Approval) int { return x.Asked.Compare(y.Asked) })
	slices.SortStableFunc(questions, func(x, y Question) int { return x.Asked.Compare(y.Asked) })
	return approvals, questions, openError(ctx, err)
}

// openError maps an error of reading all open runs.
func openError(ctx context.Context, err error) error {
	if unread, ok := errors.AsType[*UnreadError](err); ok {
		return unread
	}
	return requestError(ctx, "", err)
}

// Approvals returns the calls of the run and of the sub-agents below it that wait for approval,
// oldest first; none for a run that has ended. It needs no worker. Errors: *RequestError of the
// types run_not_found, not_a_run, run_unreadable, server_unreachable and server_refused, and that
// of ctx.
func (r *Run) Approvals(ctx context.Context) ([]Approval, error) {
	list, err := audit.Approvals(ctx, r.client.temporal, r.id, r.runID)
	return list, requestError(ctx, r.id, err)
}

// Questions returns the open questions of the run and of the sub-agents below it, oldest first;
// none for a run that has ended. Errors are those of Approvals.
func (r *Run) Questions(ctx context.Context) ([]Question, error) {
	list, err := audit.Questions(ctx, r.client.temporal, r.id, r.runID)
	return list, requestError(ctx, r.id, err)
}

// Approve approves a call that Approvals listed. The decision holds for exactly that call, once: if
// the call has another digest by now, it is refused. by names the person who decides; reason may be
// empty. Errors are those of Decide.
func (r *Run) Approve(ctx context.Context, a Approval, by, reason string) error {
	return findRun(r, a).Decide(ctx, Decision{Call: a.Call, Digest: a.Digest,
		Kind: api.DecisionApprove, By: by, Reason: reason})
}

// Deny denies a call that Approvals listed. The call ends as approval_denied, and its run
// continues. Errors are those of Decide.
func (r *Run) Deny(ctx context.Context, a Approval, by, reason string) error {
	return findRun(r, a).Decide(ctx, Decision{Call: a.Call, Digest: a.Digest,
		Kind: api.DecisionDeny, By: by, Reason: reason})
}

// findRun returns the run of the call: r, or a sub-agent below it.
func findRun(r *Run, a Approval) *Run {
	if cmp.Or(a.WorkflowID, r.id) == r.id {
		return r
	}
	return r.client.Open(a.WorkflowID)
}

// Decide sends a decision about a call of this run: also one with changed arguments, or a grant to
// a run at a limit. It waits until the run has accepted it, at most 15 seconds.
//
// Errors: *RequestError of the types invalid_request; request_refused with a *ReplyError, whose
// type says whether the call still waits; run_ended, run_not_found, run_unanswered,
// server_unreachable and server_refused; and that of ctx.
func (r *Run) Decide(ctx context.Context, d Decision) error {
	if e := people.CheckDecision(d); e != nil {
		return malformed(r.id, e)
	}
	return r.update(ctx, runstart.RandomHex(16), api.DecideApprovalUpdate, d, refusedReply)
}

// Answer replies to an open question of this run. An answer that does not fit the question's schema
// is refused with all its problems, and the question stays open. Errors are those of Decide.
func (r *Run) Answer(ctx context.Context, reply Reply) error {
	if e := people.CheckReply(reply); e != nil {
		return malformed(r.id, e)
	}
	return r.update(ctx, runstart.RandomHex(16), api.AnswerQuestionUpdate, reply, refusedReply)
}
