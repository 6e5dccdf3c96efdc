package console

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/toolspecs"
)

// fake is a backend with one run, and the run itself.
type fake struct {
	mu     sync.Mutex
	err    error // of every method that reads
	calls  []switchyard.Approval
	asks   []switchyard.Question
	events []api.Event
	open   []api.Record
	run    history.Summary
	runs   []switchyard.ListedRun
	next   []byte
	now    []audit.Running
	// polls and reads count the readings of the inbox and of the run. A read waits for the gate.
	polls, reads int
	gate         chan struct{}
	// refusal is the answer to everything that changes the run; done are the changes.
	refusal   error
	decided   func() // called by each decision
	decisions []switchyard.Decision
	replies   []switchyard.Reply
	sent      []switchyard.Sent
	controls  []string
	queries   []switchyard.RunQuery
}

func (f *fake) inbox(context.Context) ([]switchyard.Approval, []switchyard.Question, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polls++
	return f.calls, f.asks, f.err
}

func (f *fake) listWaits(context.Context, runRef) ([]switchyard.Approval, []switchyard.Question,
	error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls, f.asks, f.err
}

func (f *fake) list(_ context.Context, q switchyard.RunQuery, _ int, _ []byte) (
	[]switchyard.ListedRun, []byte, error) {
	f.queries = append(f.queries, q)
	return f.runs, f.next, f.err
}

func (f *fake) read(ctx context.Context, _ runRef, each func(api.Event)) (history.Summary,
	[]api.Record, error) {
	f.mu.Lock()
	f.reads++
	gate := f.gate
	f.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return history.Summary{}, nil, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		each(e)
	}
	return f.run, f.open, f.err
}

func (f *fake) outline(context.Context, runRef) (history.Summary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.run, f.err
}

func (f *fake) listPending(context.Context, runRef) ([]audit.Running, error) { return f.now, f.err }

func (f *fake) report(context.Context, []switchyard.ListedRun) (stats.Report, int, error) {
	all := stats.NewAnalysis(stats.Thresholds{})
	all.AddRun(f.run, nil)
	for _, e := range f.events {
		if e.Record != nil {
			all.AddCall(*e.Record)
		}
	}
	return all.Report(), 0, f.err
}

func (f *fake) lanes(_ context.Context, known []api.Lane) ([]lanestate.State, error) {
	var list []lanestate.State
	for _, l := range known {
		list = append(list, lanestate.State{Lane: l})
	}
	return list, f.err
}

func (f *fake) handle(runRef) controlled { return f }

func (f *fake) namespace() string { return "default" }

func (f *fake) Decide(_ context.Context, d switchyard.Decision) error {
	f.decisions = append(f.decisions, d)
	if f.decided != nil {
		f.decided()
	}
	return f.refusal
}

func (f *fake) Answer(_ context.Context, r switchyard.Reply) error {
	f.replies = append(f.replies, r)
	return f.refusal
}

func (f *fake) Send(_ context.Context, s switchyard.Sent) error {
	f.sent = append(f.sent, s)
	return f.refusal
}

func (f *fake) Pause(_ context.Context, by, reason string) error {
	f.controls = append(f.controls, "pause by "+by+": "+reason)
	return f.refusal
}

func (f *fake) Resume(_ context.Context, by, reason string) error {
	f.controls = append(f.controls, "resume by "+by+": "+reason)
	return f.refusal
}

func (f *fake) Cancel(_ context.Context, by, reason string) error {
	f.controls = append(f.controls, "cancel by "+by+": "+reason)
	return f.refusal
}

const refundSpec = `
name: refund
version: 1.0.0
description: Gives money back
parameters:
  to: {type: string, description: the account}
  amount: {type: integer}
  pin: {type: string, required: false, sensitive: true}
entry:
  type: command
  argv: [refund, "{{args.to}}", "{{args.amount}}"]
`

var asked = time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)

// waitingRun returns a backend with a call that waits for approval.
func waitingRun() *fake {
	f := &fake{run: history.Summary{WorkflowID: "run/1", Kind: history.RunAgent, Name: "clerk",
		Prompt: "give ada her money back", Status: history.RunRunning, Started: asked,
		Caller: api.Caller{ID: "bob"}}}
	f.calls = []switchyard.Approval{{WorkflowID: "run/1", Approval: api.Approval{Call: "2.1",
		Tool: "refund", Asked: asked, Until: time.Now().Add(time.Hour),
		ApprovalNeed: api.ApprovalNeed{Reason: "money leaves", Rule: "ask-money",
			Text: "refund to=ada amount=100 pin=***", Digest: "digest-1"}}}}
	f.events = []api.Event{{Type: api.EventRunStarted, Time: asked, WorkflowID: "run/1"},
		{Type: api.EventToolCompleted, Time: asked, CallID: "1.1", Tool: "lookup",
			Record: &api.Record{CallID: "1.1", Tool: "lookup", Status: api.CallCompleted,
				Arguments: json.RawMessage(`{"name":"ada"}`),
				Result:    &api.Result{Output: json.RawMessage(`{"owed":100}`)},
				Timing: api.Timing{Scheduled: asked, Started: asked.Add(time.Second),
					Closed: asked.Add(3 * time.Second)}}},
		{Type: api.EventStepCompleted, Time: asked, Step: &api.ModelResponse{Message: api.Message{
			Text: "She is owed it.", Calls: []api.Call{{ID: "2.1", Tool: "refund"}}}}}}
	f.open = []api.Record{{CallID: "2.1", Tool: "refund", Status: api.CallRunning,
		Arguments: json.RawMessage(`{"amount":100,"pin":"***","to":"ada"}`),
		Labels:    []string{"private"},
		Policies:  []api.PolicyAction{{Rule: "ask-money", Effect: "ask"}}}}
	return f
}

var approver = Principal{Name: "eve", Auth: api.AuthKey, CSRF: "token",
	Roles: []api.UserRole{api.RoleViewer, api.RoleOperator, api.RoleApprover}}

// console returns a console of a backend for a person.
func consoleOf(t *testing.T, f *fake, who Principal) *Console {
	t.Helper()
	return auditedConsole(t, f, who, io.Discard)
}

// auditedConsole is consoleOf with a log of what people do.
func auditedConsole(t *testing.T, f *fake, who Principal, log io.Writer) *Console {
	t.Helper()
	specs, err := toolspecs.Decode("refund.yaml", []byte(refundSpec), toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := toolspecs.NewCatalog(specs)
	if err != nil {
		t.Fatal(err)
	}
	c := newConsole(Config{Catalog: func() *toolspecs.Catalog { return catalog },
		Principal: func(*http.Request) Principal { return who }, Version: "test",
		Audit:      slog.New(slog.NewTextHandler(log, nil)),
		TemporalUI: "https://temporal.example/"}, f)
	return c
}

// routed routes requests to a console.
func routed(c *Console) http.Handler { return routes.Handlers{routes.Console: c} }

func get(c *Console, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	routed(c).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// post sends a form; values are pairs of names and values.
func post(c *Console, path string, values ...string) *httptest.ResponseRecorder {
	form := url.Values{}
	for i := 0; i < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	routed(c).ServeHTTP(w, r)
	return w
}

// denied is the run after somebody has denied the call.
func (f *fake) denied(by, reason string) {
	f.calls = nil
	f.open[0].Status = api.CallRefused
	f.open[0].Approval = &api.Decided{Decision: api.DecisionDeny, By: by, Reason: reason}
}
