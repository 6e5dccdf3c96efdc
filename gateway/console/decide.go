package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/console/arguments"
	"github.com/switchyard/switchyard/gateway/console/forms"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/redaction"
	"github.com/switchyard/switchyard/toolspecs"
)

// grantKind is the kind of a form that grants a run at a limit more.
const grantKind = "grant"

// callBody is the content of the page of one call.
type callBody struct {
	// RunID is empty for the last run with the ID.
	Run, RunID, Call string
	// Open is the approval; nil if the call does not wait for one.
	Open  *switchyard.Approval
	About *about
	// Said is the beginning of the result or the error of a call that has ended.
	Said string
	// Edit is the form for changed arguments; nil for none. Editing says that it is shown.
	Edit    *forms.Form
	Editing bool
	// Problem says why a form was refused, and Problems are all faults of its values.
	Problem  string
	Problems []api.Problem
	Reason   string
	// Grant is the form to grant a run at a limit more.
	Grant forms.Form
	// Late is set for a decision that came after another one, or after the end of the call.
	Late bool
}

// grantSchema is the schema of an api.Grant.
var grantSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"calls":{"type":"integer","description":"more calls"},` +
	`"turns":{"type":"integer","description":"more turns"},` +
	`"tokens":{"type":"integer","description":"more tokens"},` +
	`"cost":{"type":"number","description":"more cost in dollars"},` +
	`"wall_time":{"type":"string","description":"more time, such as 1h30m"}}}`)

// Arguments are those of a call that has ended; nil if they are too large for a page, or no object.
func (b *callBody) Arguments() []arguments.Argument {
	return arguments.Of(small(b.About.Record).Arguments)
}

// Change is what an edit has changed; nil for a call that was not edited.
func (b *callBody) Change() *change {
	d := b.About.Record.Approval
	if d == nil || d.Decision != api.DecisionEdit {
		return nil
	}
	return &change{jsonBlock("asked for", d.Original), jsonBlock("approved", d.Edited),
		bytes.Contains(d.Edited, []byte(`"`+redaction.Word+`"`))}
}

// change has the arguments that a call was asked for with, and those that were approved. Hides says
// that sensitive values can have changed as well.
type change struct {
	Before, After code
	Hides         bool
}

// target returns the run and the call that a request names.
func (p *page) target() (run, call string) {
	return p.r.FormValue("run"), p.r.FormValue("call")
}

func (c *Console) showCall(p *page) error {
	body, err := c.callBody(p.r.Context(), p)
	if err != nil {
		return err
	}
	return c.showCallBody(p, body, 0)
}

func (c *Console) showCallBody(p *page, body *callBody, status int) error {
	if status != 0 {
		body.forget(c.config.Catalog())
	}
	return p.show(content{Template: "call", Title: "Call " + body.Call, Section: "inbox",
		Status: status, Live: true, Body: body})
}

// forget prepares the form of an edit to be shown again after a fault: without sensitive values,
// and without those of the form of another schema.
func (b *callBody) forget(catalog *toolspecs.Catalog) {
	switch {
	case b.Edit == nil:
	case b.Edit.Stale:
		b.Edit = b.editForm(catalog)
	default:
		b.Edit.Forget()
	}
}

// callBody reads the call that a request names.
func (c *Console) callBody(ctx context.Context, p *page) (*callBody, error) {
	run, call := p.target()
	body := &callBody{Run: run, RunID: p.r.FormValue("run_id"), Call: call,
		Grant: forms.Answer(grantSchema)}
	var err error
	if body.RunID == "" { // an earlier run with the ID has ended
		if body.Open, err = openCall(ctx, c.backend, run, call); err != nil {
			return nil, err
		}
	}
	if body.About, err = readAbout(ctx, c.backend, runRef{run, body.RunID}, call); err != nil {
		return nil, err
	}
	body.Said = saidBy(body.About.Record)
	if body.Open != nil && body.Open.Limit == "" && body.About.Found {
		body.Edit = body.editForm(c.config.Catalog())
		body.Editing = body.Edit != nil && (p.r.FormValue("edit") != "" ||
			p.r.FormValue("decision") == string(api.DecisionEdit))
	}
	return body, nil
}

// openCall returns the approval that a call waits for; nil if it waits for none.
func openCall(ctx context.Context, b backend, run, call string) (*switchyard.Approval, error) {
	open, _, err := b.listWaits(ctx, runRef{ID: run})
	for i, a := range open {
		if a.WorkflowID == run && a.Call == call {
			return &open[i], err
		}
	}
	return nil, err
}

// editForm returns the form for the arguments of a waiting call; nil if there is none.
func (b *callBody) editForm(catalog *toolspecs.Catalog) *forms.Form {
	tool, ok := catalog.Get(b.Open.Tool)
	if !ok {
		return nil
	}
	f, ok := forms.Edit(tool.InputSchema(), b.About.Record.Arguments)
	if !ok {
		return nil
	}
	f.Hide(tool.Mask().Redact)
	return &f
}

// decide handles the forms that decide about a call.
func (c *Console) decide(p *page) error {
	body, err := c.callBody(p.r.Context(), p)
	if err != nil {
		return err
	}
	entered := p.r.PostForm
	body.Reason = entered.Get("reason")
	d := switchyard.Decision{Call: body.Call, Digest: entered.Get("digest"),
		Kind: api.DecisionKind(entered.Get("decision")), By: p.who.Name,
		Auth: p.who.Auth, Roles: p.who.Roles, Claims: p.who.Claims, Reason: body.Reason}
	if d.Digest == "" { // a decision without one would hold for a call that nobody has seen
		p.auditDecision(d, body.Run, errUnseen)
		body.Problem = "The form does not name the call as it was shown."
		return c.showCallBody(p, body, http.StatusUnprocessableEntity)
	}
	if body.Open == nil {
		p.auditDecision(d, body.Run, errClosed)
		body.Late, body.Problem = true, "The call does not wait for approval any more."
		return c.showCallBody(p, body, http.StatusConflict)
	}
	if body.unseen(d) || !body.complete(&d, entered) {
		p.auditDecision(d, body.Run, errFaults)
		return c.showCallBody(p, body, http.StatusUnprocessableEntity)
	}
	err = c.backend.handle(runRef{ID: body.Run}).Decide(p.r.Context(), d)
	p.auditDecision(d, body.Run, err)
	if err != nil {
		c.inbox.kick()
		return c.refusedDecision(p, body, err)
	}
	c.inbox.removeDecided(aboutKey{body.Run, body.Call, d.Digest})
	return p.done("/console/inbox", body.confirm(d))
}

// decisions are the kinds of decisions, as a page confirms them.
var decisions = map[api.DecisionKind]string{api.DecisionApprove: "is approved",
	api.DecisionDeny: "is denied", api.DecisionEdit: "is approved with changed arguments"}

// confirm says what was decided. That need not be what was asked for: an edit without changes
// approves.
func (b *callBody) confirm(d switchyard.Decision) string {
	if d.Grant != nil {
		return "Run " + b.Run + " may use more."
	}
	return fmt.Sprintf("The call of %s, %s of run %s, %s.", display.Shorten(b.Open.Tool, 60),
		display.Shorten(b.Call, 60), display.Shorten(b.Run, 200), decisions[d.Kind])
}

func (p *page) auditDecision(d switchyard.Decision, run string, err error) {
	kind, known := string(d.Kind), []api.DecisionKind{api.DecisionApprove, api.DecisionDeny,
		api.DecisionEdit, grantKind}
	if !slices.Contains(known, d.Kind) {
		kind = "unknown"
	}
	p.audit("decision", kind, err, "run", run, "call", d.Call)
}

// unseen reports whether a decision approves a call whose arguments the page cannot show.
func (b *callBody) unseen(d switchyard.Decision) bool {
	if d.Kind == api.DecisionDeny || b.Open.Limit != "" || b.About.Found {
		return false
	}
	b.Problem = "The arguments of the call cannot be shown, so that it can only be denied here."
	return true
}

// whyNoEdit says what is wrong with the form of an edit.
func (b *callBody) whyNoEdit() string {
	switch {
	case b.Edit == nil:
		return "There is no form for the arguments of this call: change them with starter approve."
	case b.Edit.Stale:
		return "The tool has changed since the form was shown. Look at the arguments again, and " +
			"change them here."
	}
	return "The changed arguments are not valid."
}

// complete adds to a decision what its form has besides; false if that has faults.
func (b *callBody) complete(d *switchyard.Decision, entered url.Values) bool {
	switch d.Kind {
	case api.DecisionEdit:
		var changes json.RawMessage
		ok := b.Edit != nil
		if ok {
			changes, ok = b.Edit.Changes(entered)
		}
		if !ok {
			b.Problem = b.whyNoEdit()
			return false
		}
		d.Arguments = changes
		if string(changes) == "{}" { // nothing was changed
			d.Kind, d.Arguments = api.DecisionApprove, nil
		}
	case grantKind:
		grant, ok := b.readGrant(entered)
		if !ok {
			return false
		}
		d.Kind, d.Grant = api.DecisionApprove, grant
	}
	return true
}

// readGrant returns the amounts of a grant.
func (b *callBody) readGrant(entered url.Values) (*api.Grant, bool) {
	value, ok := b.Grant.Value(entered)
	if !ok {
		b.Problem = "The amounts are not valid."
		return nil, false
	}
	g := &api.Grant{}
	if json.Unmarshal(value, g) != nil {
		b.Problem = "Enter whole numbers, and a time such as 1h30m."
		return nil, false
	}
	return g, true
}

// refusedDecision shows why a decision did not take effect.
func (c *Console) refusedDecision(p *page, body *callBody, err error) error {
	refused, ok := errors.AsType[*api.ReplyError](err)
	if !ok && !errors.Is(err, &switchyard.RequestError{Type: switchyard.RunEnded}) {
		return err
	}
	if ok && (refused.Type == api.DecisionUnfit || refused.Type == api.ReplyMalformed) {
		body.Problem, body.Problems = sentence(refused.Message), refused.Problems
		if body.Edit != nil {
			body.Problems = body.Edit.Blame(refused.Problems)
		}
		return c.showCallBody(p, body, http.StatusUnprocessableEntity)
	}
	// Somebody else was faster, or the call has ended or changed: show it as it is now.
	now, lookup := c.callBody(p.r.Context(), p)
	if lookup != nil {
		return lookup
	}
	now.Late = now.Open == nil
	now.Reason, now.Problem = body.Reason, notCounted(err)
	return c.showCallBody(p, now, http.StatusConflict)
}

// notCounted says why a decision did not count. A text that begins with a name stays as it is.
func notCounted(err error) string {
	for _, about := range []api.ReplyErrorType{api.DecisionOwnCall, api.DecisionNotAllowed} {
		if e, ok := errors.AsType[*api.ReplyError](err); ok && e.Type == about {
			return "Your decision does not count: " + e.Message + "."
		}
	}
	return sentence(err.Error())
}
