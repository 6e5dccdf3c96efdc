package runstart

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
)

// ForkID returns the ID of a fork of a run. The forks of a run are found by their IDs.
func ForkID(source string) string { return api.ForkPrefix(source) + RandomHex(4) }

// StartFork starts the run of a request that takes over state. Input.Fork has to be set.
//
// A conversation that does not fit one input follows in parts. If they cannot be sent, the run is
// cancelled.
//
// Errors: those of Start, and *api.Error of type validation_error if the state is too large.
func (n *Namespace) StartFork(ctx context.Context, r *Request, state codec.ForkState) (Started,
	error) {
	parts, err := codec.EncodeFork(state)
	if err != nil {
		return Started{}, err
	}
	r.Earlier, r.Input.Fork.Parts = parts[0], len(parts)
	started, err := n.Start(ctx, r, nil)
	for i := 1; i < len(parts) && err == nil; i++ {
		err = n.Client.SignalWorkflow(ctx, r.ID, started.RunID, api.ForkSignal,
			codec.ForkPart{Index: i, Data: parts[i]})
		if err != nil {
			ctx := context.WithoutCancel(ctx)
			err = errors.Join(fmt.Errorf("send part %d of %d of the conversation: %w", i+1,
				len(parts), err), n.Client.CancelWorkflow(ctx, r.ID, started.RunID))
		}
	}
	return started, err
}
