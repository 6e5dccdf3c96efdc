package runlist

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/visibility"
)

// conversationCondition returns the query condition for runs of a conversation.
func conversationCondition(id string) string {
	return visibility.In(api.AttributeConversation, id)
}
