package toolspecs

// kinds maps entry.type to the kind of tool.
var kinds = map[string]kind{
	KindFunction: functionKind{},
	KindStateful: statefulKind{},
	KindCommand:  commandKind{},
	KindREST:     restKind{},
	KindMCP:      mcpKind{},
	KindAgent:    agentKind{},
	KindHuman:    humanKind{},
	KindPlan:     planKind{},
}
