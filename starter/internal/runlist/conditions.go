package runlist

import (
	"strings"

	"github.com/switchyard/switchyard/api"
)

// ConversationCondition is the part of a query that runs of a conversation meet.
func ConversationCondition(id string) string {
	return api.AttributeConversation + " = " + Quoted(id)
}

// Quoted writes text into a query.
func Quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
