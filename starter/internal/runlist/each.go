package runlist

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"go.temporal.io/sdk/client"
)

// CollectOpen joins the results of of for all open runs. It skips runs that end meanwhile and
// reports those that cannot be read.
func CollectOpen[T any](ctx context.Context, a *cli.App, c client.Client, of func(context.Context,
	client.Client, string, string) ([]T, error)) (open []T, missing cli.Unread, err error) {
	runs, err := List(ctx, c, a.Connection.ResolvedNamespace,
		Condition(`ExecutionStatus = "Running"`, "", false), math.MaxInt32, nil)
	if err != nil {
		return nil, nil, err
	}
	found, faults := make([][]T, len(runs)), make([]error, len(runs))
	slots := make(chan struct{}, askedAtOnce)
	var all sync.WaitGroup
	for i, run := range runs {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i], faults[i] = of(ctx, c, run.ID, run.RunID)
		})
	}
	all.Wait()
	for i, err := range faults {
		if err != nil && !errors.Is(err, audit.ErrNotFound) && !missing.Take(runs[i].ID,
			runs[i].RunID, err) {
			return nil, nil, err
		}
	}
	return slices.Concat(found...), missing, nil
}

// askedAtOnce bounds the runs that are queried concurrently.
const askedAtOnce = 16
