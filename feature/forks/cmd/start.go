package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/internal/runstart"
)

// start starts the run of a request that forks f and takes over state. It sets the rest of f, and
// what the request has of it.
//
// A conversation that does not fit one input follows in parts. If they cannot be sent, the run is
// cancelled.
//
// Errors: those of Namespace.Start, and *api.Error of type validation_error if the state is too
// large.
func start(ctx context.Context, n *runstart.Namespace, r *runstart.Request, f forks.Fork,
	state forks.State) (runstart.Started, error) {
	parts, err := forks.Encode(state)
	if err != nil {
		return runstart.Started{}, err
	}
	f.Parts = len(parts)
	source, err := json.Marshal(f)
	if err != nil {
		return runstart.Started{}, err
	}
	r.Earlier, r.Memo = parts[0], map[string]any{forks.Memo: f}
	r.Input.Features = api.Features{forks.InputKey: source}
	started, err := n.Start(ctx, r, nil)
	for i := 1; i < len(parts) && err == nil; i++ {
		err = n.Client.SignalWorkflow(ctx, r.ID, started.RunID, forks.Signal,
			forks.Part{Index: i, Data: parts[i]})
		if err != nil {
			ctx := context.WithoutCancel(ctx)
			err = errors.Join(fmt.Errorf("send part %d of %d of the conversation: %w", i+1,
				len(parts), err), n.Client.CancelWorkflow(ctx, r.ID, started.RunID))
		}
	}
	return started, err
}
