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

// hook is a webhook that keeps what it is told, and answers with a status.
type hook struct {
	status int
	mu     sync.Mutex
	told   []string
	first  api.Notice
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var n api.Notice
	err := json.NewDecoder(r.Body).Decode(&n)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.told) == 0 {
		h.first = n
	}
	line := fmt.Sprint(n.Call, " ", n.Event)
	if n.Decided != nil {
		line += fmt.Sprint(" ", n.Decided.Decision, " ", n.Decided.By)
	}
	if err != nil {
		line = err.Error()
	}
	h.told = append(h.told, line)
	w.WriteHeader(h.status)
}

// all returns what it was told, sorted; a notice may still be under way when a run is over.
func (h *hook) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(slices.Values(h.told))
}

// notifying has the run's workers tell a webhook of approvals.
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

// TestApprovalNotices proves that the webhook is told of each approval that waits, is escalated and
// is over, with what a person needs to decide and nothing sensitive, and that runs whose verdicts
// do not say so tell nothing.
func TestApprovalNotices(t *testing.T) {
	l, h := newGuardedLab(t), &hook{status: http.StatusOK}
	l.notifying(h)
	var wait []api.Approval
	l.after(time.Minute, func() { wait = l.awaiting() })
	l.decide(2*time.Minute, api.Decision{Call: "1.2", Kind: api.DecisionDeny, By: "ada"})
	l.runAgent(guardedAgent(step(call("wire", `{"text":"x"}`), call("pay", `{"value":1}`),
		call("pay", `{"value":2}`)), answer("done")), "Go.")
	l.result()
	// The run is over as soon as 1.1 is, and does not wait until that is told.
	told := slices.DeleteFunc(h.all(),
		func(line string) bool { return line == "1.1 decided timeout " })
	expect(t, "told", told, []string{"1.1 escalated", "1.1 waiting", "1.2 decided deny ada",
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

// TestApprovalWebhookDown proves that a webhook that is down is tried again for an hour, and
// changes nothing: calls wait, are decided and run as without it.
func TestApprovalWebhookDown(t *testing.T) {
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
		t.Errorf("after %s it was told %d times", took, waiting)
	}
}

// TestApprovalManyNotices proves that a turn with more calls than notices may be under way at a
// time tells of all of them.
func TestApprovalManyNotices(t *testing.T) {
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
		t.Errorf("told of %d calls", len(waiting))
	}
}
