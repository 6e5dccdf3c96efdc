package console

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/gateway"
	"github.com/switchyard/switchyard/internal/value/display"
)

const (
	// lastCalls is how many calls of a run are shown with one that waits, and maxSaid bounds what
	// each answered, in bytes.
	lastCalls = 5
	maxSaid   = 300
	// readAtOnce bounds the runs that are read at the same time.
	readAtOnce = 4
)

// about is what led to a waiting call.
type about struct {
	Run history.Summary
	// Record is that of the call; its arguments are as the tool will get them, with sensitive ones
	// redacted.
	Record api.Record
	Found  bool
	// Caller is who started the run.
	Caller string
	// Step is what the model wrote when it asked for the call.
	Step string
	// Last are the last calls that ended before, and Calls is how many did.
	Last  []earlier
	Calls int
	// Large says that the arguments are left out, Fault that the run cannot be read.
	Large bool
	Fault string
}

// Whole reports whether a page shows the call as the tool will get it.
func (a *about) Whole() bool { return a.Found && !a.Large && a.Fault == "" }

// earlier is a call that ended before the one that waits.
type earlier struct {
	api.Record
	// Said is the beginning of its result or of its error.
	Said string
}

// saidBy returns the beginning of the result or the error of a call in one line.
func saidBy(r api.Record) string {
	var text string
	switch {
	case r.Error != nil:
		text = string(r.Error.Type) + ": " + r.Error.Message
	case r.Result != nil:
		text = jsonBlock("result", r.Result.Output).Text
	}
	return display.Shorten(strings.Join(strings.Fields(text), " "), maxSaid)
}

// readAbout reads the run of a waiting call, or of one that has ended.
func readAbout(ctx context.Context, b backend, run runRef, call string) (*about, error) {
	a := &about{}
	summary, open, err := b.read(ctx, run, func(e api.Event) { a.learn(e, call) })
	if err != nil && !errors.Is(err, audit.ErrIncomplete) {
		return nil, err
	}
	for _, r := range open {
		if r.CallID == call {
			a.Record, a.Found = r, true
		}
	}
	a.Run, a.Caller = summary, summary.Caller.ID
	if c := gateway.CallerFromRunID(run.ID); c.ID != "" {
		a.Caller = c.ID
	}
	a.Run.Prompt, _ = cut(summary.Prompt)
	return a, nil
}

// learn takes from an event what is shown with a call.
func (a *about) learn(e api.Event, call string) {
	switch {
	case e.Step != nil && asksFor(e.Step.Message, call):
		a.Step, _ = cut(e.Step.Message.Text)
	case e.Record == nil:
	case e.Record.CallID == call:
		a.Record, a.Found = *e.Record, true
	default:
		a.Calls++
		a.Last = append(a.Last, earlier{small(*e.Record), saidBy(*e.Record)})
		if len(a.Last) > lastCalls {
			a.Last = append([]earlier(nil), a.Last[1:]...)
		}
	}
}

// asksFor reports whether a message of a model asks for a call.
func asksFor(m api.Message, call string) bool {
	return slices.ContainsFunc(m.Calls, func(c api.Call) bool { return c.ID == call })
}

// small returns a record without its large parts.
func small(r api.Record) api.Record {
	out := api.Record{CallID: r.CallID, Tool: r.Tool, Status: r.Status, Error: r.Error,
		Timing: r.Timing, Approval: r.Approval, WorkflowID: r.WorkflowID}
	if len(r.Arguments) <= maxShown {
		out.Arguments = r.Arguments
	}
	return out
}

// aboutKey names a waiting call or question. Digest differs when it is asked about again.
type aboutKey struct{ run, call, digest string }

// aboutCache keeps what is shown with waiting calls, as long as they wait.
type aboutCache struct {
	backend backend
	mu      sync.Mutex
	known   map[aboutKey]*about
}

func newAboutCache(b backend) *aboutCache {
	return &aboutCache{backend: b, known: map[aboutKey]*about{}}
}

// of returns what led to the given calls. It forgets all others. What cannot be read now has a
// fault, and is read again the next time.
func (c *aboutCache) of(ctx context.Context, keys []aboutKey) []*about {
	list := make([]*about, len(keys))
	slots := make(chan struct{}, readAtOnce)
	var all sync.WaitGroup
	c.mu.Lock()
	known := c.known
	c.mu.Unlock()
	for i, key := range keys {
		if list[i] = known[key]; list[i] != nil {
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			a, err := containPanics(ctx, func() (*about, error) {
				return readAbout(ctx, c.backend, runRef{ID: key.run}, key.call)
			})
			if err != nil {
				_, text := explain(err)
				a = &about{Fault: text}
			}
			arguments := a.Record.Arguments
			policies, labels := a.Record.Policies, a.Record.Labels
			a.Record = small(a.Record)
			a.Record.Policies, a.Record.Labels = policies, labels
			a.Large = len(arguments) > len(a.Record.Arguments)
			list[i] = a
		})
	}
	all.Wait()
	next := map[aboutKey]*about{}
	for i, key := range keys {
		if list[i].Fault == "" {
			next[key] = list[i]
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = next
	return list
}
