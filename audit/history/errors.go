package history

import (
	"errors"
	"fmt"
	"io"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
)

// Errors of a history, to be told apart with errors.Is.
var (
	// ErrNotARun: the workflow is not one of Switchyard's.
	ErrNotARun = errors.New("not a run of Switchyard")
	// ErrUnreadable: the history holds something that cannot be decoded; the error says which event, or what is missing to read it.
	ErrUnreadable = errors.New("the history cannot be read")
)

// ReadHistory reads the JSON that `temporal workflow show --output json` prints: the history of one execution.
func Parse(r io.Reader) ([]*historypb.HistoryEvent, error) {
	history, err := client.HistoryFromJSON(r, client.HistoryJSONOptions{})
	if err != nil {
		return nil, fmt.Errorf("%w: this is not the JSON of a history: %w", ErrUnreadable, err)
	}
	return history.GetEvents(), nil
}
