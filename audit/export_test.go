package audit

import (
	"context"
	"iter"

	"go.temporal.io/sdk/client"
)

// FollowAllBy is FollowAll with batches of about so many entries.
func FollowAllBy(ctx context.Context, c client.Client, entries int,
	after StreamPosition) iter.Seq2[StreamBatch, error] {
	return followAll(ctx, c, "default", after, entries)
}
