package api

import "testing"

// Identities of different kinds of authentication are different principals, whichever agent calls.
func TestLedgerWorkflowID_IsOfAPrincipalOrAConversation(t *testing.T) {
	id := func(scope LedgerScope, c Caller, conversation, run string) string {
		return LedgerWorkflowID("base", scope, c, conversation, run)
	}
	ada := Caller{Type: CallerDirect, ID: "ada", Auth: AuthKey}
	agent := Caller{Type: CallerAgent, ID: "clerk", Principal: "ada", Auth: AuthKey}
	byToken := Caller{ID: "ada", Auth: AuthToken}
	if one := id(ScopePrincipalCalls, ada, "a", "1"); one != id(ScopePrincipalCalls, agent, "b",
		"2") || one == id(ScopePrincipalCalls, byToken, "a", "1") {
		t.Error("principals are told apart by something else than identity and authentication")
	}
	if one := id(ScopeConversationCalls, ada, "a", "1"); one != id(ScopeConversationCalls,
		byToken, "a", "2") || one == id(ScopeConversationCalls, ada, "", "1") {
		t.Error("conversations are told apart by something else than their IDs")
	}
}
