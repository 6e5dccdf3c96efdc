package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
)

// attributeNames are the search attributes of a run, all of the type Keyword.
var attributeNames = []string{switchyard.AttributeAgent, switchyard.AttributeCaller, switchyard.AttributeConversation, switchyard.AttributeKind}

func (a *app) setupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "setup", Short: "Register Switchyard's search attributes on a server",
		Long: `Registers the search attributes by which runs are found: SwitchyardAgent, SwitchyardCaller, SwitchyardConversation,
SwitchyardKind. Once per namespace is enough, more often does no harm. The server of 'starter dev' has them.`,
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
	missing, err := missingAttributes(ctx, c, a.connection.resolvedNamespace)
	if err != nil {
		return err
	}
	if a.format.json() && len(missing) == 0 {
		return a.writeSetup(missing)
	}
	if len(missing) == 0 {
		return a.println("all search attributes are registered")
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: a.connection.resolvedNamespace,
		SearchAttributes: map[string]enumspb.IndexedValueType{}}
	for _, name := range missing {
		request.SearchAttributes[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, request)
	if _, both := errors.AsType[*serviceerror.AlreadyExists](err); err != nil && !both {
		return fmt.Errorf("cannot register %s: %w\nAsk whoever runs the server to add them, type Keyword", strings.Join(missing, ", "), err)
	}
	if a.format.json() {
		return a.writeSetup(missing)
	}
	return a.println("registered " + strings.Join(missing, ", "))
}

// writeSetup tells as JSON what is registered now, and which of it was not before.
func (a *app) writeSetup(added []string) error {
	return writeJSON(a.Out, map[string]any{"namespace": a.connection.resolvedNamespace, "attributes": attributeNames,
		"registered": append([]string{}, added...)}, false)
}

// registered returns the names of the custom search attributes of a namespace.
func registered(ctx context.Context, c client.Client, namespace string) (map[string]bool, error) {
	known := map[string]bool{}
	own, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	for name := range own.GetCustomAttributes() {
		known[name] = true
	}
	if code := codeOf(err); code != codes.PermissionDenied && code != codes.Unimplemented {
		return known, err
	}
	// Hosted servers keep the operator's service to themselves.
	all, err := c.WorkflowService().GetSearchAttributes(ctx, &workflowservice.GetSearchAttributesRequest{})
	for name := range all.GetKeys() {
		known[name] = true
	}
	return known, err
}

// missingAttributes returns those of ours that the server does not know, sorted.
func missingAttributes(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	known, err := registered(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(attributeNames), func(name string) bool { return known[name] }), nil
}
