package runlist

import (
	"strings"

	"github.com/switchyard/switchyard/api"
)

// conversationCondition returns the query condition for runs of a conversation.
func conversationCondition(id string) string {
	return api.AttributeConversation + " = " + quoted(id)
}

// quoted quotes text for a query.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
