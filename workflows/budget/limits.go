package budget

// The limits of requirement A4, as RunResult.Limit names them.
const (
	LimitTurns    = "turns"
	LimitCalls    = "calls"
	LimitTokens   = "tokens"
	LimitCost     = "cost"
	LimitWallTime = "wall_time"
	// LimitConversation: the conversation is too long for the model, or for the run to continue as
	// new, and cannot be made shorter.
	LimitConversation = "conversation"
	// LimitRepeats: calls failed in the same way again and again.
	LimitRepeats = "repeats"
	// LimitPrincipal: a budget of the principal is used up.
	LimitPrincipal = "principal"
)
