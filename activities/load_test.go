package activities

import (
	"context"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/conversation"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// silentRun is a server whose earlier run answers no query before the context of the query ends.
type silentRun struct{ client.Client }

func (silentRun) QueryWorkflow(ctx context.Context, _, _, _ string,
	_ ...any) (converter.EncodedValue, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// The activity of a run that is cancelled while it loads its conversation ends as cancelled, not as
// failed.
func TestLoadConversation_EndsAsCancelled(t *testing.T) {
	a := &Activities{Conversations: conversation.New(conversation.Config{Client: silentRun{}})}
	now := time.Now()
	request := api.LoadConversationRequest{Conversation: "talk", Started: now,
		LastRun: &api.LastRun{RunID: "earlier", At: now}}
	_, err := within(t, api.LoadConversationActivity, nil, func(ctx context.Context,
		_ converter.EncodedValues) (any, error) {
		ctx, end := context.WithCancelCause(ctx)
		end(temporal.NewCanceledError())
		_, err := a.LoadConversation(ctx, request)
		if !temporal.IsCanceledError(err) {
			t.Errorf("the activity ends with %v", err)
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}
