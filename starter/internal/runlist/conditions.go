package runlist

import (
	"strings"

	"github.com/switchyard/switchyard/api"
)

// ConversationCondition returns the query condition for runs of a conversation.
func ConversationCondition(id string) string {
	return api.AttributeConversation + " = " + Quoted(id)
}

// Quoted quotes text for a query.
func Quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
