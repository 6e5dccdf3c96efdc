package runlist

import "github.com/switchyard/switchyard/api"

// conversationCondition returns the query condition for runs of a conversation.
func conversationCondition(id string) string {
	return api.QueryOneOf(api.AttributeConversation, id)
}
