package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
)

// openedKeys receives the signals that open keys, in place of a server.
type openedKeys struct {
	mu      sync.Mutex
	keys    []string
	failure error
	// hostInstance, if set, delays signals until it is closed; running and most count those in
	// flight.
	hostInstance  chan struct{}
	running, most int
}

func (o *openedKeys) SignalWithStartWorkflow(ctx context.Context, id, signal string, argument any,
	options client.StartWorkflowOptions,
	workflow any, inputs ...any) (client.WorkflowRun, error) {
	base := options.TaskQueue
	lane := inputs[0].(api.KeysInput).Lane
	if id != api.KeysWorkflowID(base, lane) || options.ID != id || signal != api.OpenKeySignal ||
		workflow != api.LaneKeysWorkflow {
		return nil, fmt.Errorf("signal %s of %v %s with %+v", signal, workflow, id, options)
	}
	o.mu.Lock()
	o.keys = append(o.keys, base+"/"+lane+"/"+argument.(api.KeyOrder).Open)
	o.running++
	o.most = max(o.most, o.running)
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		o.running--
		o.mu.Unlock()
	}()
	if o.hostInstance != nil {
		select {
		case <-o.hostInstance:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return nil, o.failure
}

func (o *openedKeys) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failure = err
}

func (o *openedKeys) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(slices.Values(o.keys))
}

func expectOpened(t *testing.T, o *openedKeys, want ...string) {
	t.Helper()
	if got := o.all(); !slices.Equal(got, want) {
		t.Errorf("opened %q, want %q", got, want)
	}
}

// Each key is opened once for all its calls, of one turn and of later ones. A refused call opens
// none.
func TestAdmit_OpensKeysBeforeItDecides(t *testing.T) {
	b, opened, r := laneBench(t)
	for i, call := range []string{`android {"device":"a"}`, `android {"device":"b"}`,
		`android {"device":"a"}`, `phones {"device":"a"}`, `general {"device":"a"}`,
		`android {"device":7}`} {
		tool, arguments, _ := strings.Cut(call, " ")
		r.Calls = append(r.Calls, api.Call{ID: fmt.Sprint("1.", i+1), Tool: tool,
			Arguments: arguments})
	}
	b.admit(t, r)
	expectOpened(t, opened, "base/android/a", "base/android/b", "base/phones/a")
	b.admit(t, r)
	if err := b.Open(t.Context(), api.OpenRequest{Base: "base", Lane: "android",
		Key: "a"}); err != nil {
		t.Error(err)
	}
	expectOpened(t, opened, "base/android/a", "base/android/b", "base/phones/a")
	r.Base = "other"
	b.admit(t, r)
	expectOpened(t, opened, "base/android/a", "base/android/b", "base/phones/a", "other/android/a",
		"other/android/b", "other/phones/a")
}

// The next attempt does not treat the failed one as an open key.
func TestAdmit_DecidesNothingIfAKeyCannotBeOpened(t *testing.T) {
	b, opened, r := laneBench(t)
	r.Calls = []api.Call{{ID: "1.1", Tool: "android", Arguments: `{"device":"a"}`}}
	unreachable := errors.New("unreachable")
	opened.fail(unreachable)
	if decisions, err := b.Admit(t.Context(), r); !errors.Is(err, unreachable) ||
		!strings.Contains(err.Error(), "key a of the lane android") || decisions != nil {
		t.Errorf("admitted %+v, %v", decisions, err)
	}
	if err := b.Open(t.Context(), api.OpenRequest{Base: "base", Lane: "nosuch",
		Key: "a"}); !errors.Is(err, unreachable) {
		t.Errorf("opened: %v", err)
	}
	opened.fail(nil)
	b.admit(t, r)
	expectOpened(t, opened, "base/android/a", "base/android/a", "base/nosuch/a")
}

// Calls of one key wait for the same signal, and the end of a context ends the wait.
func TestKeys_OpenConcurrentlyWithinABound(t *testing.T) {
	opened := &openedKeys{hostInstance: make(chan struct{})}
	k := newKeys(opened)
	var started []*opening
	request := func(i int) api.OpenRequest {
		return api.OpenRequest{Base: "base", Lane: "android", Key: fmt.Sprint(i)}
	}
	for i := range 3 * maxOpening {
		started = append(started, k.open(request(i), time.Hour))
	}
	if again := k.open(request(0), time.Hour); again != started[0] {
		t.Error("a key that is being opened is opened again")
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("enough"))
	if err := started[0].wait(ended); err == nil || err.Error() != "enough" {
		t.Errorf("the wait ended with %v", err)
	}
	close(opened.hostInstance)
	for _, o := range started {
		if err := o.wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(opened.all()) != 3*maxOpening || opened.most > maxOpening {
		t.Errorf("%d signals, %d of them at once", len(opened.all()), opened.most)
	}
}

// A key is opened again after a time, and the number of remembered keys is bounded.
func TestKeys_AreForgotten(t *testing.T) {
	opened := &openedKeys{}
	k := newKeys(opened)
	r := api.OpenRequest{Base: "base", Lane: "android", Key: "a"}
	for range 2 {
		if err := k.open(r, 0).wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	expectOpened(t, opened, "base/android/a", "base/android/a")
	var last *opening
	for i := range maxOpened + 1 {
		last = k.open(api.OpenRequest{Base: "base", Lane: "android", Key: fmt.Sprint(i)}, time.Hour)
		if err := last.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if k.mu.Lock(); len(k.openers) > maxOpened {
		t.Errorf("%d keys are remembered", len(k.openers))
	}
	k.mu.Unlock()
}
