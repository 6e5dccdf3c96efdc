package traces

import (
	"context"
	"iter"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.temporal.io/sdk/client"
)

// Read yields the spans of a run and of its sub-agents that have ended, each when the history
// reports its end. runID and the errors are as in audit.Events. If the server has deleted a part of
// the tree, or it cannot be decoded, Read yields the other spans and then the error.
func Read(ctx context.Context, c client.Client, workflowID, runID string,
	o Options) iter.Seq2[*tracepb.Span, error] {
	return func(yield func(*tracepb.Span, error) bool) {
		w := &walker{client: c, options: o, yield: yield}
		if w.run(ctx, api.ChildRun{WorkflowID: workflowID, RunID: runID}) && w.gone != nil {
			yield(nil, w.gone)
		}
	}
}

type walker struct {
	client  client.Client
	options Options
	// root is the run at the top of the tree, set after the first run has been read.
	root  string
	gone  error
	yield func(*tracepb.Span, error) bool
}

// run yields the spans of one run and of its sub-agents, and reports whether the reader wants more.
func (w *walker) run(ctx context.Context, run api.ChildRun) bool {
	events := audit.Subscribe(w.client, audit.Position{WorkflowID: run.WorkflowID, Run: run.RunID})
	var place *tree
	for e, err := range events.Read(ctx) {
		if audit.IsMissing(err) {
			w.gone = audit.WorstError(w.gone, err)
			break
		}
		if err == nil && place == nil {
			place, err = w.place(ctx, events.Summary())
		}
		if err != nil {
			w.yield(nil, err)
			return false
		}
		if !w.event(ctx, place, e, events) {
			return false
		}
	}
	return true
}

func (w *walker) place(ctx context.Context, s history.Summary) (*tree, error) {
	if w.root == "" {
		root, err := audit.Root(ctx, w.client, s)
		if err != nil {
			return nil, err
		}
		w.root = root
	}
	return newTree(s, w.root, w.options), nil
}

func (w *walker) event(ctx context.Context, place *tree, e api.Event,
	events *audit.Subscription) bool {
	if !ends(e) {
		return true
	}
	if !w.yield(place.of(e, events.Summary()), nil) {
		return false
	}
	if !w.options.Alone && e.Record != nil && e.Record.Child != nil && e.Record.Child.RunID != "" {
		return w.run(ctx, *e.Record.Child)
	}
	return true
}
