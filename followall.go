package switchyard

import (
	"context"
	"iter"

	"github.com/switchyard/switchyard/audit"
)

// Types of the stream of all runs of a namespace.
type (
	// StreamBatch is a number of entries, and the position after them. The batch may be empty.
	StreamBatch = audit.StreamBatch
	// StreamEntry is the record of a call, the summary of a run, or a gap.
	StreamEntry = audit.StreamEntry
	// StreamGap is a part of the stream that could not be read.
	StreamGap = audit.StreamGap
	// StreamPosition says which entries a reader has seen. Its field Closed selects the runs that
	// end after that time; the zero value selects all that the server has.
	StreamPosition = audit.StreamPosition
)

// FollowAll yields the records of the calls and the summaries of all runs of the namespace after a
// position, each when the call or the run has ended, and waits for more until ctx ends. It is about
// a second late, and up to 30 seconds for open runs with a long history or without news for
// minutes. Memory and positions grow with the number of open runs only.
//
// Each entry has a key that stays the same. Store the entries of a batch and its position in one
// transaction, and each entry is stored once. If that is not possible, ignore entries whose key is
// stored already. Runs of which the server has deleted a part before it was read, and those that
// cannot be decoded, are entries with a Gap.
//
// An error comes last: that of ctx, or a *RequestError of the types server_unreachable and
// server_refused. Go on from the position of the last batch.
func (c *Client) FollowAll(ctx context.Context,
	after StreamPosition) iter.Seq2[StreamBatch, error] {
	return func(yield func(StreamBatch, error) bool) {
		for b, err := range audit.FollowAll(ctx, c.temporal, c.namespace.Name, after) {
			if !yield(b, requestError(ctx, "", err)) {
				return
			}
		}
	}
}
