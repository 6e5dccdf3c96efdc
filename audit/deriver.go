package audit

import (
	"github.com/switchyard/switchyard"
	historypb "go.temporal.io/api/history/v1"
)

// Deriver turns the history events of a run's chain, in order, into the run's events. It holds what is open, not what
// is over, so its memory does not grow with the run.
type Deriver struct{}

// NewDeriver returns a Deriver for the chain that starts with execution runID of workflowID. Either may be empty: the
// history's first event says them too.
func NewDeriver(workflowID, runID string) *Deriver { return &Deriver{} }

// Add takes the next event of the history and returns what it means: none, one or several events. An error says which
// history event cannot be read; ErrNotARun is one.
func (d *Deriver) Add(event *historypb.HistoryEvent) ([]switchyard.Event, error) { return nil, nil }
