package e2e

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// awaitApprovals waits until n calls of a run wait for approval, and returns them by id.
func (l *lab) awaitApprovals(id string, n int) map[string]api.Approval {
	l.t.Helper()
	open := map[string]api.Approval{}
	l.await(fmt.Sprint("for calls that wait for approval: ", n), func() bool {
		list, err := audit.Approvals(l.ctx, l.Client, id, "")
		clear(open)
		for _, a := range list {
			open[a.Call] = a.Approval
		}
		return err == nil && len(open) == n
	})
	return open
}

// decide decides about a call of a run and returns the refusal; empty if it was accepted.
func (l *lab) decide(id string, d api.Decision) api.ReplyErrorType {
	l.t.Helper()
	handle, err := l.Client.UpdateWorkflow(l.ctx, client.UpdateWorkflowOptions{WorkflowID: id,
		UpdateName: api.DecideApprovalUpdate,
		Args:       []any{d}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = handle.Get(l.ctx, nil)
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if err != nil && !ok {
		l.t.Fatalf("the decision of %s ended with %v", d.By, err)
	}
	if err == nil {
		return ""
	}
	return api.ReplyErrorType(app.Type())
}

// guarded returns an agent with tools whose calls require approval, and append.
func guarded(steps ...api.ScriptStep) *api.Agent {
	return withTools(agent(steps...), "publish publish_soon append")
}

// decisions takes a run of guarded through every end of an approval: an edit, a
// denial, a timeout, with a refused decision before them.
func (l *lab) decisions(id string) client.WorkflowRun {
	run := l.runAgent(id, guarded(step(call("publish", `{"text":"a"}`),
		call("publish", `{"text":"b"}`), call("publish_soon", `{"text":"c"}`),
		call("append", `{"text":"d"}`)), answer("done")))
	open := l.awaitApprovals(id, 2)
	for _, d := range []api.Decision{
		{Call: "1.1", Kind: api.DecisionApprove, Digest: open["1.2"].Digest, By: "eve"},
		{Call: "1.1", Kind: api.DecisionEdit, Digest: open["1.1"].Digest, By: "ada",
			Arguments: []byte(`{"text":"A"}`)},
		{Call: "1.2", Kind: api.DecisionDeny, Digest: open["1.2"].Digest, By: "bob", Reason: "no"},
	} {
		l.decide(id, d)
	}
	return run
}

// Calls wait for approval while another call of their turn runs, and the loss of the worker
// meanwhile loses nothing. Decisions that do not match a call are refused and run nothing. Records
// contain who decided what, when and why.
func TestApprovals_AreDurable(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	run := l.runAgent("run", guarded(step(call("publish", `{"text":"a"}`),
		call("publish", `{"text":"b"}`), call("append", `{"text":"c"}`)), answer("done")))
	open := l.awaitApprovals("run", 2)
	l.await("for the other call to end", func() bool { return len(l.entries()) == 1 })
	first.Kill()
	if again := l.awaitApprovals("run", 2); again["1.1"].Digest != open["1.1"].Digest ||
		again["1.1"].Text != "Publish a?" {
		t.Errorf("without a worker, what waits is %+v", again)
	}
	l.worker()
	approves := func(call, by string) api.Decision {
		return api.Decision{Call: call, Kind: api.DecisionApprove, By: by,
			Digest: open["1.1"].Digest}
	}
	edits := func(arguments string) api.Decision {
		d := approves("1.1", "ada")
		d.Kind, d.Arguments, d.Reason = api.DecisionEdit, []byte(arguments), "shorter"
		return d
	}
	denies := api.Decision{Call: "1.2", Kind: api.DecisionDeny, By: "bob", Reason: "not that",
		Digest: open["1.2"].Digest}
	for i, test := range []struct {
		decision api.Decision
		want     api.ReplyErrorType
	}{
		{approves("1.2", "eve"), api.DecisionMismatch},
		{approves("1.1", ""), api.DecisionUnnamed},
		{edits(`{"text":"longer than twenty characters"}`), api.DecisionUnfit},
		{approves("1.3", "eve"), api.DecisionUnknown},
		{edits(`{"text":"A"}`), ""},
		{approves("1.1", "eve"), api.DecisionClosed},
		{denies, ""},
	} {
		if got := l.decide("run", test.decision); got != test.want {
			t.Errorf("decision %d is refused as %q, want %q", i, got, test.want)
		}
	}
	l.result(run)
	expect(t, "records", l.statuses(run), []string{"1.3 append completed", "1.1 publish completed",
		"1.2 publish refused approval_denied"})
	var texts []string
	for _, e := range l.entries() {
		texts = append(texts, e.Text)
	}
	expect(t, "written", texts, []string{"c", "A"})
	records := l.records(run)
	for i, want := range map[int]api.Decided{
		1: {Decision: api.DecisionEdit, By: "ada", Reason: "shorter",
			Original: []byte(`{"text":"a"}`), Edited: []byte(`{"text":"A"}`),
			Digest: open["1.1"].Digest},
		2: {Decision: api.DecisionDeny, By: "bob", Reason: "not that", Digest: open["1.2"].Digest},
	} {
		got := records[i].Approval
		if got == nil || got.Decision != want.Decision || got.By != want.By ||
			got.Reason != want.Reason || got.Digest != want.Digest ||
			string(got.Original) != string(want.Original) ||
			string(got.Edited) != string(want.Edited) || !got.At.After(got.Asked) || got.Why == "" {
			t.Errorf("the approval in the record is %+v, want %+v", got, want)
		}
	}
	if records[0].Approval != nil || string(records[1].Arguments) != `{"text":"A"}` {
		t.Errorf("records: %+v", records)
	}
	expect(t, "approval events", l.approvalEvents(run), []string{"requested 1.1", "requested 1.2",
		"refused 1.2 by eve", "refused 1.1 by ", "refused 1.1 by ada",
		"decided 1.1 by ada", "refused 1.1 by eve", "decided 1.2 by bob"})
}

// approvalEvents lists the approval events of a run.
func (l *lab) approvalEvents(run client.WorkflowRun) []string {
	l.t.Helper()
	var list []string
	for e, err := range audit.Events(l.ctx, l.Client, run.GetID(), run.GetRunID()) {
		l.must(err)
		what, ok := strings.CutPrefix(string(e.Type), "approval_")
		switch {
		case !ok:
		case e.Decided == nil:
			list = append(list, what+" "+e.CallID)
		default:
			list = append(list, what+" "+e.CallID+" by "+e.Decided.By)
		}
	}
	return list
}

// Approvers of a tool decide, and nobody else: not the caller, not a name without authentication.
// The record says as whom someone decided.
func TestApprovals_AreGivenByApprovers(t *testing.T) {
	l := newLab(t)
	l.worker()
	s := switchyard.NewClient(l.Client, switchyard.Options{}).Session("session/approvers",
		switchyard.SessionStart{Client: "e2e 1.0", Caller: api.Caller{Type: api.CallerSession,
			ID: "ana", Auth: api.AuthToken}})
	_, err := s.Call(l.ctx, api.SessionCall{ID: "c", Tool: "publish_reviewed",
		Arguments: `{"text":"a"}`})
	l.must(err)
	status, err := s.Status(l.ctx, "c", "")
	l.must(err)
	editor := func(by string, auth api.AuthMethod) api.Decision {
		return api.Decision{Call: "c", Digest: status.Approval.Digest, Kind: api.DecisionApprove,
			By: by, Auth: auth, Roles: []api.UserRole{api.RoleApprover},
			Claims: map[string]any{"groups": []any{"editors", "staff"}}}
	}
	visitor := editor("vic", api.AuthToken)
	visitor.Claims = nil
	for i, test := range []struct {
		decision api.Decision
		want     api.ReplyErrorType
	}{
		{editor("ana", api.AuthToken), api.DecisionOwnCall},
		{editor("bob", ""), api.DecisionNotAllowed},
		{editor("", api.AuthToken), api.DecisionUnnamed},
		{visitor, api.DecisionNotAllowed},
		{editor("bob", api.AuthOIDC), ""},
	} {
		if got := l.decide("session/approvers", test.decision); got != test.want {
			t.Errorf("decision %d is refused as %q, want %q", i, got, test.want)
		}
	}
	l.made(s, api.SessionCall{ID: "c", Tool: "publish_reviewed", Arguments: `{"text":"a"}`})
	for r, err := range s.Run().Records(l.ctx) {
		l.must(err)
		want := []api.Approver{{Role: api.RoleApprover,
			Claims: map[string][]string{"groups": {"editors"}}}}
		if d := r.Approval; d == nil || d.By != "bob" || d.Auth != api.AuthOIDC ||
			!reflect.DeepEqual(d.As, want) {
			t.Errorf("the record has the approval %+v", d)
		}
	}
	summary, err := s.Run().Summary(l.ctx)
	l.must(err)
	l.replay("session/approvers", summary.Run)
}
