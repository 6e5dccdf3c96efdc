package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/console/arguments"
	"github.com/switchyard/switchyard/gateway/console/forms"
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
	// Editing says that the form for changed arguments is shown, Edit is that form; nil for a text
	// of JSON, which Text holds.
	Editing bool
	Edit    *forms.Form
	Text    string
	// Problem says why a form was refused, and Problems are all faults of its values.
	Problem  string
	Problems []api.Problem
	// Reason and Grant are what was entered.
	Reason string
	Grant  []grantField
	// Late is set for a decision that came after another one, or after the end of the call.
	Late bool
}

// grantField is an amount that can be granted.
type grantField struct{ Name, Label, Value, Fault string }

func grantFields() []grantField {
	return []grantField{{Name: "calls", Label: "more calls"}, {Name: "turns", Label: "more turns"},
		{Name: "tokens", Label: "more tokens"}, {Name: "cost", Label: "more cost in dollars"},
		{Name: "wall_time", Label: "more time, such as 1h"}}
}

// Arguments are those of a call that has ended; nil if they are too large for a page, or no object.
func (b *callBody) Arguments() []arguments.Argument {
	return arguments.Of(small(b.About.Record).Arguments)
}

// Changes are those of an edit; nil if they are too large for a page.
func (b *callBody) Changes() []arguments.Change {
	d := b.About.Record.Approval
	if d == nil || len(d.Original)+len(d.Edited) > 4*maxShown {
		return nil
	}
	return arguments.Changes(d)
}

// HidesChanges reports whether an edit can have changed sensitive values.
func (b *callBody) HidesChanges() bool {
	d := b.About.Record.Approval
	return d != nil && d.Decision == api.DecisionEdit &&
		bytes.Contains(d.Edited, []byte(`"`+redaction.Word+`"`))
}

// target returns the run and the call that a request names.
func (p *page) target() (run, call string) {
	return p.r.FormValue("run"), p.r.FormValue("call")
}

func (c *Console) showCall(p *page) {
	body, err := c.callBody(p.r.Context(), p)
	if err != nil {
		p.fail(err)
		return
	}
	c.showCallBody(p, body, 0)
}

func (c *Console) showCallBody(p *page, body *callBody, status int) {
	if status != 0 {
		body.forget(c.config.Catalog())
	}
	p.show(content{Template: "call", Title: "Call " + body.Call, Section: "inbox", Status: status,
		Events: "/console/events/inbox", Body: body})
}

// forget prepares the form of an edit to be shown again after a fault: without sensitive values,
// and without those of the form of another schema.
func (b *callBody) forget(catalog *toolspecs.Catalog) {
	var tool *toolspecs.Compiled
	known := false
	if b.Open != nil {
		tool, known = catalog.Get(b.Open.Tool)
	}
	switch {
	case b.Edit != nil && b.Edit.Stale:
		b.Edit = b.editForm(catalog)
	case b.Edit != nil:
		b.Edit.Forget()
	case known:
		b.Text = string(tool.Mask().Redact(json.RawMessage(b.Text)))
	}
}

// callBody reads the call that a request names.
func (c *Console) callBody(ctx context.Context, p *page) (*callBody, error) {
	run, call := p.target()
	body := &callBody{Run: run, RunID: p.r.FormValue("run_id"), Call: call, Text: "{}",
		Grant: grantFields()}
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
		body.Editing = p.r.FormValue("edit") != "" ||
			p.r.FormValue("decision") == string(api.DecisionEdit)
		body.Edit = body.editForm(c.config.Catalog())
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
func (c *Console) decide(p *page) {
	body, err := c.callBody(p.r.Context(), p)
	if err != nil {
		p.fail(err)
		return
	}
	entered := p.r.PostForm
	body.Reason = entered.Get("reason")
	d := switchyard.Decision{Call: body.Call, Digest: entered.Get("digest"),
		Kind: api.DecisionKind(entered.Get("decision")), By: p.who.Name,
		Auth: p.who.Auth, Roles: p.who.Roles, Claims: p.who.Claims, Reason: body.Reason}
	if d.Digest == "" { // a decision without one would hold for a call that nobody has seen
		p.auditDecision(d, body.Run, errUnseen)
		body.Problem = "The form does not name the call as it was shown."
		c.showCallBody(p, body, http.StatusUnprocessableEntity)
		return
	}
	if body.Open == nil {
		p.auditDecision(d, body.Run, errClosed)
		body.Late, body.Problem = true, "The call does not wait for approval any more."
		c.showCallBody(p, body, http.StatusConflict)
		return
	}
	if body.unseen(d) || !body.complete(&d, entered) {
		p.auditDecision(d, body.Run, errFaults)
		c.showCallBody(p, body, http.StatusUnprocessableEntity)
		return
	}
	err = c.backend.handle(runRef{ID: body.Run}).Decide(p.r.Context(), d)
	p.auditDecision(d, body.Run, err)
	if err != nil {
		c.inbox.kick()
		c.refusedDecision(p, body, err)
		return
	}
	c.inbox.removeDecided(aboutKey{body.Run, body.Call, d.Digest})
	if d.Grant != nil {
		p.done("/console/inbox", formAction{Did: grantKind, Run: body.Run})
		return
	}
	// Not what was asked for: an edit without changes approves.
	p.done("/console/inbox", formAction{Did: string(d.Kind), Run: body.Run, Call: body.Call,
		Tool: body.Open.Tool})
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
	if b.Edit != nil && b.Edit.Stale {
		return "The tool has changed since the form was shown. Look at the arguments again, and " +
			"change them here."
	}
	return "The changed arguments are not valid."
}

// complete adds to a decision what its form has besides; false if that has faults.
func (b *callBody) complete(d *switchyard.Decision, entered url.Values) bool {
	switch d.Kind {
	case api.DecisionEdit:
		changes, ok := b.changes(entered)
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
			b.Problem = "The amounts are not valid."
			return false
		}
		d.Kind, d.Grant = api.DecisionApprove, grant
	}
	return true
}

// changes returns the changed arguments of an edit.
func (b *callBody) changes(entered url.Values) (json.RawMessage, bool) {
	if b.Edit != nil {
		b.Edit.Stale = entered.Has("arguments") // of the form without fields
		return b.Edit.Changes(entered)
	}
	b.Text = entered.Get("arguments")
	data, fault := forms.Strict(b.Text)
	var object map[string]json.RawMessage
	switch {
	case fault == "" && json.Unmarshal(data, &object) != nil:
		fault = "the changed arguments must be a JSON object"
	case bytes.Contains(data, []byte(`"`+redaction.Word+`"`)):
		fault = "enter the sensitive values in place of " + redaction.Word + ", or leave them out"
	case b.Text == "" && entered.Has("form"):
		fault = "the tool has changed since the form was shown"
	}
	if fault != "" {
		b.Problems = []api.Problem{{Message: fault}}
	}
	return data, fault == ""
}

// readGrant returns the amounts of a grant.
func (b *callBody) readGrant(entered url.Values) (*api.Grant, bool) {
	g, ok := &api.Grant{}, true
	for i := range b.Grant {
		f := &b.Grant[i]
		f.Value = strings.TrimSpace(entered.Get("grant." + f.Name))
		if f.Value == "" {
			continue
		}
		if f.set(g) != nil {
			f.Fault, ok = "enter a number", false
			if f.Name == "wall_time" {
				f.Fault = "enter a duration, such as 1h30m"
			}
		}
	}
	return g, ok
}

// set sets the field's amount of a grant.
func (f *grantField) set(g *api.Grant) (err error) {
	switch f.Name {
	case "calls":
		g.Calls, err = strconv.Atoi(f.Value)
	case "turns":
		g.Turns, err = strconv.Atoi(f.Value)
	case "tokens":
		g.Tokens, err = strconv.Atoi(f.Value)
	case "cost":
		g.Cost, err = strconv.ParseFloat(f.Value, 64)
		if math.IsNaN(g.Cost) || math.IsInf(g.Cost, 0) {
			err = strconv.ErrRange
		}
	case "wall_time":
		err = g.WallTime.UnmarshalText([]byte(f.Value))
	}
	return err
}

// refusedDecision shows why a decision did not take effect.
func (c *Console) refusedDecision(p *page, body *callBody, err error) {
	refused, ok := errors.AsType[*api.ReplyError](err)
	if !ok && !errors.Is(err, &switchyard.RequestError{Type: switchyard.RunEnded}) {
		p.fail(err)
		return
	}
	if ok && (refused.Type == api.DecisionUnfit || refused.Type == api.ReplyMalformed) {
		body.Problem, body.Problems = sentence(refused.Message), refused.Problems
		if body.Edit != nil {
			body.Problems = body.Edit.Blame(refused.Problems)
		}
		c.showCallBody(p, body, http.StatusUnprocessableEntity)
		return
	}
	// Somebody else was faster, or the call has ended or changed: show it as it is now.
	now, lookup := c.callBody(p.r.Context(), p)
	if lookup != nil {
		p.fail(lookup)
		return
	}
	now.Late = now.Open == nil
	now.Reason, now.Problem = body.Reason, notCounted(err)
	c.showCallBody(p, now, http.StatusConflict)
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
