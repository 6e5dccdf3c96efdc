package history

import (
	"errors"
	"fmt"
	"io"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
)

// Errors of this package. Use errors.Is.
var (
	// ErrNotARun is returned for a workflow that is not a run of Switchyard.
	ErrNotARun = errors.New("not a run of Switchyard")
	// ErrUnreadable is returned for a history that cannot be decoded. The error names the event, or
	// the key that is missing.
	ErrUnreadable = errors.New("the history cannot be read")
)

// Parse reads the history of one execution from the JSON of `temporal workflow show --output json`.
func Parse(r io.Reader) ([]*historypb.HistoryEvent, error) {
	history, err := client.HistoryFromJSON(r, client.HistoryJSONOptions{})
	if err != nil {
		return nil, fmt.Errorf("%w: it is not the JSON of a history: %w", ErrUnreadable, err)
	}
	return history.GetEvents(), nil
}
