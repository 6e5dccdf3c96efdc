// Package attributes knows the search attributes of runs, and which of them a namespace has.
package attributes

import (
	"context"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/connection"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
)

// Attribute is a search attribute of runs. Kept ones are set by the run itself, the others at
// its start.
type Attribute struct {
	Name   string
	Values enumspb.IndexedValueType
	kept   bool
}

// Run are the search attributes of runs, in the order in which they are registered on a
// server with too few free slots. SwitchyardAgent comes first: a run without an agent assumes for
// its sub-agents that it and the next three are registered.
var Run = []Attribute{
	{api.AttributeAgent, enumspb.INDEXED_VALUE_TYPE_KEYWORD, false},
	{api.AttributeCaller, enumspb.INDEXED_VALUE_TYPE_KEYWORD, false},
	{api.AttributeConversation, enumspb.INDEXED_VALUE_TYPE_KEYWORD, false},
	{api.AttributeKind, enumspb.INDEXED_VALUE_TYPE_KEYWORD, false},
	{api.AttributeOutcome, enumspb.INDEXED_VALUE_TYPE_KEYWORD, true},
	{api.AttributeTools, enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST, true},
	{api.AttributeWaiting, enumspb.INDEXED_VALUE_TYPE_BOOL, true},
	{api.AttributeCalls, enumspb.INDEXED_VALUE_TYPE_INT, true},
	{api.AttributeTokens, enumspb.INDEXED_VALUE_TYPE_INT, true},
	{api.AttributeTurns, enumspb.INDEXED_VALUE_TYPE_INT, true},
	{api.AttributeCost, enumspb.INDEXED_VALUE_TYPE_DOUBLE, true},
}

func Names(attributes []Attribute) []string {
	names := make([]string, len(attributes))
	for i, attribute := range attributes {
		names[i] = attribute.Name
	}
	return names
}

// TypedNames lists attributes with their types.
func TypedNames(attributes []Attribute) string {
	names := make([]string, len(attributes))
	for i, attribute := range attributes {
		names[i] = attribute.Name + " (" + attribute.Values.String() + ")"
	}
	return strings.Join(names, ", ")
}

// Types maps the names of the search attributes of a namespace to their types.
type Types map[string]enumspb.IndexedValueType

// Text lists the attributes with their types, and Switchyard's own.
func (t Types) Text() string {
	var parts []string
	for _, one := range Run {
		if is, ok := t[one.Name]; ok {
			parts = append(parts, fmt.Sprintf("%s (%s, not %s)", one.Name, is, one.Values))
		}
	}
	return strings.Join(parts, ", ")
}

// List returns the custom search attributes of a namespace.
func List(ctx context.Context, c client.Client, namespace string) (Types, error) {
	own, err := c.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	code := connection.Code(err)
	if code != codes.PermissionDenied && code != codes.Unimplemented {
		return own.GetCustomAttributes(), err
	}
	// Hosted servers do not expose the operator service.
	all, err := c.WorkflowService().GetSearchAttributes(ctx,
		&workflowservice.GetSearchAttributesRequest{})
	return all.GetKeys(), err
}

// has reports whether a namespace has an attribute, with its type.
func (t Types) has(one Attribute) bool { return t[one.Name] == one.Values }

// Kept returns the attributes that runs set themselves.
func (t Types) Kept() (names []string) {
	for _, one := range Run {
		if one.kept && t.has(one) {
			names = append(names, one.Name)
		}
	}
	return names
}

// FindMissing returns Switchyard's attributes that the server lacks, and those it has with another
// type.
func FindMissing(ctx context.Context, c client.Client,
	namespace string) (missing []Attribute, taken Types, err error) {
	known, err := List(ctx, c, namespace)
	if err != nil {
		return nil, nil, err
	}
	taken = Types{}
	for _, one := range Run {
		switch is, there := known[one.Name]; {
		case !there:
			missing = append(missing, one)
		case is != one.Values:
			taken[one.Name] = is
		}
	}
	return missing, taken, nil
}
