package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
)

// searchAttribute is a search attribute of runs. Those that are kept are set by the run itself, the others when it is started.
type searchAttribute struct {
	name   string
	values enumspb.IndexedValueType
	kept   bool
}

// runAttributes are the search attributes of runs, in the order in which a server that has no room for all of them gets them. The
// agent's comes first: a run that is of no agent takes it to be there, for its sub-agents, where the next three are.
var runAttributes = []searchAttribute{
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

func attributeNames(attributes []searchAttribute) []string {
	names := make([]string, len(attributes))
	for i, attribute := range attributes {
		names[i] = attribute.name
	}
	return names
}

// typedNames lists attributes with their types.
func typedNames(attributes []searchAttribute) string {
	names := make([]string, len(attributes))
	for i, attribute := range attributes {
		names[i] = attribute.name + " (" + attribute.values.String() + ")"
	}
	return strings.Join(names, ", ")
}

func (a *app) setupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "setup", Short: "Register Switchyard's search attributes on a server",
		Long: `Registers the search attributes by which runs are found: SwitchyardAgent, SwitchyardCaller, SwitchyardConversation,
SwitchyardKind, SwitchyardOutcome, SwitchyardTools, SwitchyardWaiting, SwitchyardCalls, SwitchyardTokens, SwitchyardTurns,
SwitchyardCost. Once per namespace is enough, more often does no harm. The server of 'starter dev' has them.

A server on an SQL database has room for few attributes of each type. Where some find none, the others are registered, and runs
keep those; the exit code is 1.

Runs that were started before, and what a schedule starts that was created before, do without the attributes that were not there.`,
		Example: `  starter setup
  starter setup --address temporal.example.org:7233 --namespace agents`,
		Args: arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context(), cmd.Flags())
			if err != nil {
				return err
			}
			defer c.Close()
			return a.register(cmd.Context(), c)
		},
	}
}

func (a *app) register(ctx context.Context, c client.Client) error {
	missing, taken, err := unregistered(ctx, c, a.connection.resolvedNamespace)
	if err != nil {
		return err
	}
	refused, err := a.add(ctx, c, missing)
	added := slices.DeleteFunc(missing, func(one searchAttribute) bool { return slices.Contains(refused, one) })
	if told := a.tellSetup(attributeNames(added), len(refused)+len(taken) == 0); told != nil {
		return told
	}
	switch {
	case err != nil:
		return failure(exitFailed, "cannot register %s: %w\nAsk whoever runs the server to add them, or to make room for them. Until then runs do without.", typedNames(refused), err)
	case len(taken) > 0:
		return failure(exitFailed, "other types than Switchyard's have %s\nAsk whoever runs the server to remove them, and set up again. Until then runs do without.", taken.text())
	}
	return nil
}

// add registers attributes, one by one where the server does not take all of them. It returns those that it did not take, and why not.
func (a *app) add(ctx context.Context, c client.Client, attributes []searchAttribute) (refused []searchAttribute, why error) {
	if len(attributes) == 0 {
		return nil, nil
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: a.connection.resolvedNamespace, SearchAttributes: map[string]enumspb.IndexedValueType{}}
	for _, one := range attributes {
		request.SearchAttributes[one.name] = one.values
	}
	_, err := c.OperatorService().AddSearchAttributes(ctx, request)
	if _, both := errors.AsType[*serviceerror.AlreadyExists](err); err == nil || both {
		return nil, nil
	}
	if _, invalid := errors.AsType[*serviceerror.InvalidArgument](err); !invalid || len(attributes) == 1 {
		return attributes, err
	}
	for i := range attributes {
		if r, err := a.add(ctx, c, attributes[i:i+1]); err != nil {
			refused, why = append(refused, r...), err
		}
	}
	return refused, why
}

// tellSetup tells what is registered now, and which of it was not before; all says that nothing is missing.
func (a *app) tellSetup(added []string, all bool) error {
	switch {
	case a.format.json():
		return writeJSON(a.Out, map[string]any{"namespace": a.connection.resolvedNamespace, "attributes": attributeNames(runAttributes),
			"registered": append([]string{}, added...)}, false)
	case len(added) > 0:
		return a.println("registered " + strings.Join(added, ", "))
	case all:
		return a.println("all search attributes are registered")
	}
	return nil
}

// attributeTypes are the types of search attributes, by name.
type attributeTypes map[string]enumspb.IndexedValueType

// text lists them with their types, and Switchyard's.
func (t attributeTypes) text() string {
	var parts []string
	for _, one := range runAttributes {
		if is, ok := t[one.name]; ok {
			parts = append(parts, fmt.Sprintf("%s (%s, not %s)", one.name, is, one.values))
		}
	}
	return strings.Join(parts, ", ")
}

// registered returns the custom search attributes of a namespace.
func registered(ctx context.Context, c client.Client, namespace string) (attributeTypes, error) {
	own, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if code := codeOf(err); code != codes.PermissionDenied && code != codes.Unimplemented {
		return own.GetCustomAttributes(), err
	}
	// Hosted servers keep the operator's service to themselves.
	all, err := c.WorkflowService().GetSearchAttributes(ctx, &workflowservice.GetSearchAttributesRequest{})
	return all.GetKeys(), err
}

// has reports whether a namespace has an attribute, with its type.
func (t attributeTypes) has(one searchAttribute) bool { return t[one.name] == one.values }

// kept are the attributes that runs can keep.
func (t attributeTypes) kept() (names []string) {
	for _, one := range runAttributes {
		if one.kept && t.has(one) {
			names = append(names, one.name)
		}
	}
	return names
}

// unregistered returns those of ours that the server does not know, and those that it knows with another type.
func unregistered(ctx context.Context, c client.Client, namespace string) (missing []searchAttribute, taken attributeTypes, err error) {
	known, err := registered(ctx, c, namespace)
	if err != nil {
		return nil, nil, err
	}
	taken = attributeTypes{}
	for _, one := range runAttributes {
		switch is, there := known[one.name]; {
		case !there:
			missing = append(missing, one)
		case is != one.values:
			taken[one.name] = is
		}
	}
	return missing, taken, nil
}
