package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/searchattribute/sadefs"
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

var searchAttributeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)

// searchAttributeTypes are the words a user may write as a type, sorted.
func searchAttributeTypes() []string {
	words := map[string]bool{}
	for _, t := range storeColumns() {
		words[t.String()] = true
	}
	return slices.Sorted(maps.Keys(words))
}

// storeColumns are the columns for search attributes that SQLite has in every namespace, with their
// types.
func storeColumns() map[string]enumspb.IndexedValueType {
	return sadefs.GetDBIndexSearchAttributes(nil).GetCustomSearchAttributes()
}

// parseSearchAttributes reads values of --search-attribute, "Name=Type", and returns them together
// with Switchyard's own. The error names the value: malformed, an unknown type, a reserved name, a
// name with two types, or more attributes of a type than the store has columns.
func parseSearchAttributes(values []string) (map[string]enumspb.IndexedValueType, error) {
	all := switchyardAttributes()
	for _, text := range values {
		name, kind, found := strings.Cut(text, "=")
		if !found || !searchAttributeName.MatchString(name) {
			return nil, fmt.Errorf(
				"--search-attribute %q: write Name=Type, for example Customer=Keyword; a name holds letters, digits, '_' and '-'",
				text)
		}
		if sadefs.IsReserved(name) {
			return nil, fmt.Errorf(
				"--search-attribute %q: the name belongs to the server: choose another", text)
		}
		valueType, err := enumspb.IndexedValueTypeFromString(kind)
		if err != nil || !slices.Contains(searchAttributeTypes(), kind) {
			return nil, fmt.Errorf("--search-attribute %q: the type is one of %s", text,
				strings.Join(searchAttributeTypes(), ", "))
		}
		if before, ok := all[name]; ok && before != valueType {
			return nil, fmt.Errorf("--search-attribute %q: %s is already of type %s", text, name,
				before)
		}
		all[name] = valueType
	}
	return all, checkColumns(all)
}

// checkColumns returns an error when attributes do not all find a column in a new namespace.
func checkColumns(attributes map[string]enumspb.IndexedValueType) error {
	columns, wanted := countTypes(storeColumns()), countTypes(attributes)
	ours := countTypes(switchyardAttributes())
	for _, t := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[t] > columns[t] {
			return fmt.Errorf(
				"--search-attribute: %d attributes of type %s, of which %d are Switchyard's own, but SQLite has columns for %d: use another type",
				wanted[t], t, ours[t], columns[t])
		}
	}
	return nil
}

func countTypes(attributes map[string]enumspb.IndexedValueType) map[enumspb.IndexedValueType]int {
	count := map[enumspb.IndexedValueType]int{}
	for _, t := range attributes {
		count[t]++
	}
	return count
}

// register adds the attributes that a namespace does not have yet. It returns an error when one
// exists with another type, when a column is missing, or when the server does not answer.
func register(ctx context.Context, c *clients, namespace string,
	attributes map[string]enumspb.IndexedValueType) error {
	existing, err := c.operator.ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("cannot list the search attributes of namespace %q: %w", namespace, err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	for name, want := range attributes {
		switch have, ok := existing.GetCustomAttributes()[name]; {
		case !ok:
			missing[name] = want
		case have != want:
			return fmt.Errorf(
				"search attribute %s of namespace %q is of type %s in this database, not %s: use another name, or another file with --db-filename",
				name, namespace, have, want)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.operator.AddSearchAttributes(ctx,
		&operatorservice.AddSearchAttributesRequest{Namespace: namespace,
			SearchAttributes: missing})
	if err != nil {
		return fmt.Errorf("cannot add search attributes to namespace %q: %w", namespace, err)
	}
	return nil
}

// searchable returns nil once a query by every attribute is answered: only then can a run be
// started with them.
func searchable(ctx context.Context, c *clients, namespace string,
	attributes map[string]enumspb.IndexedValueType) error {
	var terms []string
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		terms = append(terms, "`"+name+"` IS NOT NULL")
	}
	_, err := c.workflow.CountWorkflowExecutions(ctx,
		&workflowservice.CountWorkflowExecutionsRequest{
			Namespace: namespace, Query: strings.Join(terms, " AND "),
		})
	return err
}
