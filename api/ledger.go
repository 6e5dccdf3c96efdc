package api

import "cmp"

// LedgerScope is whose earlier calls a policy asks about.
type LedgerScope string

// The scopes. The calls of a principal and of a conversation are in a ledger.
const (
	ScopePrincipalCalls    LedgerScope = "principal"
	ScopeConversationCalls LedgerScope = "conversation"
)

// Reservation is that ledgers count a call.
type Reservation struct {
	Holder string        `json:"holder"`
	Scopes []LedgerScope `json:"scopes"`
}

// LedgerWorkflowID returns the ID of the ledger of a scope for the calls of a run with that caller.
// A run without a conversation is a conversation of its own.
func LedgerWorkflowID(base string, scope LedgerScope, caller Caller, conversation,
	run string) string {
	key := cmp.Or(conversation, run)
	if scope == ScopePrincipalCalls {
		key = string(caller.Auth) + "\x00" + caller.Identity()
	}
	return "switchyard/ledger/" + base + "/" + string(scope) + "/" + Digest([]byte(key))
}
