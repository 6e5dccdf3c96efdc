// Package links serves the signed links of notices: a page that shows a call and asks once more,
// and the decision. Whoever has a link can decide, once, about exactly the call that it was made
// for.
package links

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/console/arguments"
	"github.com/switchyard/switchyard/gateway/console/static"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/approvallink"
	"github.com/switchyard/switchyard/internal/httpserver"
)

// maxForm bounds the body of a decision in bytes, within the time of a request to runs.
const (
	maxForm = 64 << 10
	within  = 20 * time.Second
	// maxArguments bounds the arguments of a call that is approved by a link, in bytes.
	maxArguments = 256 << 10
)

// Runs are the runs that links decide about.
type Runs interface {
	// Approvals returns the calls of a run that wait for approval.
	Approvals(ctx context.Context, run string) ([]switchyard.Approval, error)
	// Arguments returns those of an open call, with sensitive values redacted.
	Arguments(ctx context.Context, run, call string) (json.RawMessage, error)
	// Decide decides about a call of a run.
	Decide(ctx context.Context, run string, d api.Decision) error
}

// Config describes the pages of links.
type Config struct {
	// Runs and Key are required.
	Runs Runs
	Key  approvallink.Key
	// Audit gets decisions and refusals.
	Audit *slog.Logger
	// Enter counts a request about a call, or one with a forged link from an address, until done is
	// called; see access.Access. Default no limit.
	Enter func(who, method string) (done func(), retry time.Duration, ok bool)
	// now is the clock of tests; default time.Now.
	now func() time.Time
}

//go:embed pages/*.html
var files embed.FS

var pages = static.Parse(files, nil)

// page is what the template shows: a call with a form, or a message.
type page struct {
	Title, Message string
	Approval       *switchyard.Approval
	// Says is the text of the approval without the arguments, which Arguments has, or JSON if they
	// are no object.
	Says      string
	Arguments []arguments.Argument
	JSON      string
	Approves  bool
	Until     string
}

// New returns the handler of the routes of links. Requests to read change nothing, so that programs
// that follow links in messages decide nothing.
func New(c Config) http.Handler {
	if c.now == nil {
		c.now = time.Now
	}
	if c.Enter == nil {
		c.Enter = func(string, string) (func(), time.Duration, bool) { return func() {}, 0, true }
	}
	return routes.Methods{http.MethodGet: c.ask, http.MethodPost: c.decide}
}

// ask shows the call, and a form that decides.
func (c Config) ask(w http.ResponseWriter, r *http.Request) {
	link, done, ok := c.read(w, r)
	if !ok {
		return
	}
	defer done()
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	open, err := c.Runs.Approvals(ctx, link.WorkflowID)
	if err != nil {
		c.refuse(w, r, link, err)
		return
	}
	i := slices.IndexFunc(open, func(a switchyard.Approval) bool {
		return a.WorkflowID == link.WorkflowID && a.Call == link.Call && a.Digest == link.Digest
	})
	if i < 0 {
		c.show(w, http.StatusGone, page{Title: "Nothing to decide", Message: closed})
		return
	}
	given, err := c.Runs.Arguments(ctx, link.WorkflowID, link.Call)
	if err != nil {
		c.refuse(w, r, link, err)
		return
	}
	if link.Decision == api.DecisionApprove && len(given) > maxArguments {
		c.show(w, http.StatusRequestEntityTooLarge, tooLarge)
		return
	}
	c.show(w, http.StatusOK, newApprovalPage(&open[i], link.Decision, given))
}

// tooLarge refuses to approve what no page of a link has shown.
var tooLarge = page{Title: "Too large", Message: "The arguments of this call are too large for this " +
	"page. Decide in the console."}

// newApprovalPage returns the page that shows a call as the tool will get it, and asks.
func newApprovalPage(a *switchyard.Approval, decision api.DecisionKind,
	given json.RawMessage) page {
	if len(given) > maxArguments { // they are denied, not approved
		given = nil
	}
	p := page{Title: titles[decision], Approval: a, Approves: decision == api.DecisionApprove,
		Arguments: arguments.Of(given), Until: a.Until.UTC().Format("2006-01-02 15:04 MST")}
	p.Says = arguments.WithoutListing(a.Text, p.Arguments)
	if p.Arguments == nil && len(given) > 0 {
		p.JSON = arguments.Readable(given)
	}
	return p
}

// titles are those of the pages that ask.
var titles = map[api.DecisionKind]string{api.DecisionApprove: "Approve this call?",
	api.DecisionDeny: "Deny this call?"}

const closed = "Nothing is left to decide about this call: somebody has decided, its time is over, " +
	"or its run has ended. A link can be used once."

// decide sends the decision to the run.
func (c Config) decide(w http.ResponseWriter, r *http.Request) {
	link, done, ok := c.read(w, r)
	if !ok {
		return
	}
	defer done()
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind !=
		"application/x-www-form-urlencoded" { // its reason would be lost
		c.show(w, http.StatusUnsupportedMediaType, page{Title: "Not accepted",
			Message: "This is not the form of the page. Nothing was decided."})
		return
	}
	if err := r.ParseForm(); err != nil {
		status, text := httpserver.FormProblem(err)
		c.show(w, status, page{Title: "Not accepted", Message: text + " Nothing was decided."})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	d := api.Decision{Call: link.Call, Digest: link.Digest, Kind: link.Decision, By: link.By(),
		Auth: api.AuthLink, Reason: strings.TrimSpace(r.PostFormValue("reason"))}
	if d.Kind == api.DecisionApprove {
		given, err := c.Runs.Arguments(ctx, link.WorkflowID, link.Call)
		if err != nil {
			c.refuse(w, r, link, err)
			return
		}
		if len(given) > maxArguments {
			c.show(w, http.StatusRequestEntityTooLarge, tooLarge)
			return
		}
	}
	if err := c.Runs.Decide(ctx, link.WorkflowID, d); err != nil {
		c.refuse(w, r, link, err)
		return
	}
	c.Audit.Info("approval link used", "decision", d.Kind, "by", d.By, "run", link.WorkflowID,
		"call", link.Call, "from", r.RemoteAddr)
	text := "The call is approved, and runs."
	if d.Kind == api.DecisionDeny {
		text = "The call is denied, and does not run."
	}
	c.show(w, http.StatusOK, page{Title: "Done", Message: text})
}

// read returns the link of a request, which is counted until done is called, or answers it.
func (c Config) read(w http.ResponseWriter, r *http.Request) (link approvallink.Link, done func(),
	ok bool) {
	link, err := c.Key.Read(routes.From(r).Name, c.now())
	who := "link:" + link.WorkflowID + "\x00" + link.Call
	if err != nil {
		who, _, _ = net.SplitHostPort(r.RemoteAddr)
	}
	done, retry, ok := c.Enter(who, r.Method)
	switch {
	case !ok:
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(retry.Seconds())))))
		c.show(w, http.StatusTooManyRequests, page{Title: "Not now",
			Message: "There were too many requests. Try again in a moment."})
		return link, nil, false
	case errors.Is(err, approvallink.ErrExpired):
		c.show(w, http.StatusGone, page{Title: "Too late", Message: "This link has expired. " +
			"Decide in the console, or with a newer link."})
	case err != nil:
		c.Audit.Warn("approval link refused", "reason", "forged", "from", r.RemoteAddr)
		c.show(w, http.StatusNotFound, page{Title: "No such link",
			Message: "This link is not valid. Open it as it was sent."})
	}
	if err != nil {
		done()
	}
	return link, done, err == nil
}

// refuse answers a request that a run has refused, or that could not reach it.
func (c Config) refuse(w http.ResponseWriter, r *http.Request, link approvallink.Link, err error) {
	refusal, refused := errors.AsType[*api.ReplyError](err)
	status, p := http.StatusServiceUnavailable, page{Title: "Not now",
		Message: "The run cannot be reached. Nothing was decided; try again in a moment."}
	switch {
	case refused && (refusal.Type == api.DecisionClosed || refusal.Type == api.DecisionUnknown),
		errors.Is(err, &switchyard.RequestError{Type: switchyard.RunEnded}),
		errors.Is(err, &switchyard.RequestError{Type: switchyard.RunNotFound}):
		status, p = http.StatusGone, page{Title: "Nothing to decide", Message: closed}
	case refused && (refusal.Type == api.DecisionNotAllowed ||
		refusal.Type == api.DecisionMismatch):
		status, p = http.StatusForbidden, page{Title: "Not accepted",
			Message: "This call does not accept decisions by a link. Decide in the console."}
	case refused:
		status, p = http.StatusConflict, page{Title: "Not accepted", Message: refusal.Message}
	}
	c.Audit.Warn("approval link refused", "reason", classifyError(err), "by", link.By(), "run",
		link.WorkflowID, "call", link.Call, "from", r.RemoteAddr)
	c.show(w, status, p)
}

// classifyError returns the type of an error. Its text can have what somebody entered.
func classifyError(err error) string {
	if e, ok := errors.AsType[*api.ReplyError](err); ok {
		return string(e.Type)
	}
	if e, ok := errors.AsType[*switchyard.RequestError](err); ok {
		return string(e.Type)
	}
	return "unreachable"
}

func (c Config) show(w http.ResponseWriter, status int, p page) {
	w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	static.Show(w, status, pages, "link.html", p)
}

// ClientRuns are the runs of a Temporal namespace.
type ClientRuns struct{ Client *switchyard.Client }

// Approvals implements Runs.
func (c ClientRuns) Approvals(ctx context.Context, run string) ([]switchyard.Approval, error) {
	return c.Client.Open(run).Approvals(ctx)
}

// Arguments implements Runs.
func (c ClientRuns) Arguments(ctx context.Context, run, call string) (json.RawMessage, error) {
	for r, err := range c.Client.Open(run).Records(ctx) {
		if err != nil {
			return nil, err
		}
		if r.CallID == call && r.Closed.IsZero() {
			return r.Arguments, nil
		}
	}
	return nil, &switchyard.RequestError{Type: switchyard.RunNotFound, Message: "the run has no " +
		"open call " + call}
}

// Decide implements Runs.
func (c ClientRuns) Decide(ctx context.Context, run string, d api.Decision) error {
	return c.Client.Open(run).Decide(ctx, d)
}
