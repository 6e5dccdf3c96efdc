package workflows_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
)

// hook is a webhook that records its notices and answers with a status.
type hook struct {
	status  int
	mu      sync.Mutex
	notices []string
	first   api.Notice
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var n api.Notice
	err := json.NewDecoder(r.Body).Decode(&n)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.notices) == 0 {
		h.first = n
	}
	line := fmt.Sprint(n.Call, " ", n.Event)
	if n.Decided != nil {
		line += fmt.Sprint(" ", n.Decided.Decision, " ", n.Decided.By)
	}
	if err != nil {
		line = err.Error()
	}
	h.notices = append(h.notices, line)
	w.WriteHeader(h.status)
}

// all returns the notices, sorted; one may still be on its way when a run is over.
func (h *hook) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(slices.Values(h.notices))
}

// notifying configures a webhook for approvals on the run's workers.
func (l *lab) notifying(h *hook) {
	l.t.Helper()
	l.t.Setenv("SWITCHYARD_TEST_SECRET", "x")
	server := httptest.NewServer(h)
	l.t.Cleanup(server.Close)
	none, err := toolspecs.NewCatalog(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	a, err := activities.New(activities.Config{Catalog: func() *toolspecs.Catalog { return none },
		Client:  queryClient{lab: l},
		Webhook: activities.Webhook{URL: server.URL, Secret: "env:SWITCHYARD_TEST_SECRET"}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.RegisterActivityWithOptions(a.Notify,
		activity.RegisterOptions{Name: api.NotifyApprovalActivity})
	l.decisions = func(decisions []api.AdmissionDecision) {
		for _, v := range decisions {
			if v.Approval != nil {
				v.Approval.Notify = true
			}
		}
	}
}

// The webhook is notified when an approval waits and is over, with what a person
// needs to decide and nothing sensitive. Runs whose decisions have no webhook notify nothing.
func TestNotices_OfApprovals(t *testing.T) {
	l, h := newGuardedLab(t), &hook{status: http.StatusOK}
	l.notifying(h)
	var wait []api.Approval
	l.after(time.Minute, func() { wait = l.awaiting() })
	l.decide(2*time.Minute, api.Decision{Call: "1.2", Kind: api.DecisionDeny, By: "ada"})
	l.runAgent(guardedAgent(step(call("wire", `{"text":"x"}`), call("pay", `{"value":1}`),
		call("pay", `{"value":2}`)), answer("done")), "Go.")
	l.result()
	// The run ends as soon as 1.1 does, and does not wait for that notice.
	notices := slices.DeleteFunc(h.all(),
		func(line string) bool { return line == "1.1 decided timeout " })
	expect(t, "notices", notices, []string{"1.1 waiting", "1.2 decided deny ada",
		"1.2 waiting", "1.3 decided timeout ", "1.3 waiting"})
	i := slices.IndexFunc(wait, func(a api.Approval) bool { return a.Call == h.first.Call })
	if i < 0 {
		t.Fatalf("the first notice is %+v, and what waited %+v", h.first, wait)
	}
	n, a := h.first, wait[i]
	if n.Event != api.NoticeWaiting || n.Tool != a.Tool || n.Text != a.Text ||
		n.Reason != a.Reason || n.Digest != a.Digest || !n.Until.Equal(a.Until) ||
		!n.At.Equal(a.Asked) || n.WorkflowID == "" || n.Run == "" || !strings.HasPrefix(n.Command,
		"starter approve "+n.WorkflowID+" 1.") {
		t.Errorf("the notice is %+v of %+v", n, a)
	}

	l = newGuardedLab(t)
	l.decide(time.Minute, approve("1.1", "ada"))
	l.runAgent(guardedAgent(step(call("pay", `{"value":1}`)), answer("done")), "Go.")
	l.result()
	if ids := l.ids(); slices.ContainsFunc(ids, func(id string) bool {
		return strings.HasPrefix(id,
			"notify")
	}) {
		t.Errorf("started: %v", ids)
	}
}

// A notice is retried for an hour. Calls wait, are decided and run as without a webhook.
func TestNotices_OfAWebhookThatIsDown(t *testing.T) {
	l, h := newGuardedLab(t), &hook{status: http.StatusInternalServerError}
	l.notifying(h)
	l.decide(100*time.Minute, approve("1.1", "ada"))
	began := l.Now()
	l.runAgent(guardedAgent(step(call("pay", `{"value":1}`), call("echo", `{"value":2}`)),
		answer("done")), "Go.")
	if r := l.result(); r.Answer != "done" || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "executed", l.executed, []string{"1.2 echo", "1.1 pay"})
	waiting := 0
	for _, line := range h.all() {
		if line == "1.1 waiting" {
			waiting++
		}
	}
	if took := l.Now().Sub(began); waiting != 64 || took > 101*time.Minute {
		t.Errorf("after %s it got %d notices", took, waiting)
	}
}

// The turn has more calls than notices may be in flight.
func TestNotices_OfManyCalls(t *testing.T) {
	l, h := newGuardedLab(t), &hook{status: http.StatusOK}
	l.notifying(h)
	var calls []api.ScriptCall
	for range 250 {
		calls = append(calls, call("pay", `{"value":1}`))
	}
	l.after(time.Hour, l.CancelWorkflow)
	l.runAgent(guardedAgent(step(calls...), answer("done")), "Go.")
	l.cancelled()
	waiting := slices.DeleteFunc(h.all(), func(line string) bool {
		return !strings.HasSuffix(line,
			" waiting")
	})
	if len(waiting) != 250 {
		t.Errorf("notices of %d calls", len(waiting))
	}
}
