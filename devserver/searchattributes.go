package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// switchyardAttributes are the search attributes that every run of Switchyard sets.
func switchyardAttributes() map[string]enumspb.IndexedValueType {
	const (
		keyword     = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		keywordList = enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST
		integer     = enumspb.INDEXED_VALUE_TYPE_INT
		double      = enumspb.INDEXED_VALUE_TYPE_DOUBLE
		boolean     = enumspb.INDEXED_VALUE_TYPE_BOOL
	)
	return map[string]enumspb.IndexedValueType{
		"SwitchyardAgent":        keyword,
		"SwitchyardConversation": keyword,
		"SwitchyardKind":         keyword, // agent, plan, session or direct
		"SwitchyardCaller":       keyword,
		"SwitchyardOutcome":      keyword,
		"SwitchyardTools":        keywordList,
		"SwitchyardTurns":        integer,
		"SwitchyardCalls":        integer,
		"SwitchyardTokens":       integer,
		"SwitchyardCost":         double,
		"SwitchyardWaiting":      boolean, // waits for an approval
	}
}

// searchable returns nil once a query by every attribute is answered: only then can a run be
// started with them.
func searchable(ctx context.Context, c workflowservice.WorkflowServiceClient,
	namespace string) error {
	var terms []string
	for _, name := range slices.Sorted(maps.Keys(switchyardAttributes())) {
		terms = append(terms, "`"+name+"` IS NOT NULL")
	}
	_, err := c.CountWorkflowExecutions(ctx,
		&workflowservice.CountWorkflowExecutionsRequest{
			Namespace: namespace, Query: strings.Join(terms, " AND "),
		})
	return err
}
