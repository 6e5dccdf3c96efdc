package audit

import (
	"context"
	"errors"
	"iter"

	"github.com/switchyard/switchyard"
	"go.temporal.io/sdk/client"
)

// Errors of this package, to be told apart with errors.Is.
var (
	// ErrNotFound: the server has no such run, or keeps it no longer.
	ErrNotFound = errors.New("no such run")
	// ErrNotARun: the workflow is not one of Switchyard's.
	ErrNotARun = errors.New("not a run of Switchyard")
)

// Events gives the events of a run, as far as it has come, from the first execution of its chain over continue-as-new
// to the last. It reads page by page and holds no more than one. runID is any execution of the chain, empty for the
// latest run of that workflow id. The error, if there is one, comes last: ErrNotFound, ErrNotARun, one that names an
// event whose content cannot be read, or the server's.
func Events(ctx context.Context, c client.Client, workflowID, runID string) iter.Seq2[switchyard.Event, error] {
	return func(yield func(switchyard.Event, error) bool) {}
}

// Follow is Events that waits for more until the run is closed or ctx ends.
func Follow(ctx context.Context, c client.Client, workflowID, runID string) iter.Seq2[switchyard.Event, error] {
	return func(yield func(switchyard.Event, error) bool) {}
}

// Records gives one record for every call of a run, in the order in which they ended; calls that run or wait now come
// last. Parameters and errors are those of Events.
func Records(ctx context.Context, c client.Client, workflowID, runID string) iter.Seq2[switchyard.Record, error] {
	return func(yield func(switchyard.Record, error) bool) {}
}
