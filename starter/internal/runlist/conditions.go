package runlist

import (
	"strings"

	"github.com/switchyard/switchyard/api"
)

// conversationCondition is the part of a query that runs of a conversation meet.
func ConversationCondition(id string) string {
	return api.AttributeConversation + " = " + Quoted(id)
}

// quoted writes text into a query.
func Quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
