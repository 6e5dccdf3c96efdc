package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// defaultRetention is the time for which created namespaces keep closed runs. Records, reports
	// and conversations read histories, so it is longer than the 3 days of Temporal's CLI.
	defaultRetention = 30 * 24 * time.Hour
	leastRetention   = 24 * time.Hour
	// visible bounds the wait until the server knows a new namespace or search attribute. Its parts
	// read the list of namespaces, which holds both, every 2 to 10 s.
	visible      = 60 * time.Second
	visibleAgain = 500 * time.Millisecond
)

// checkRetention returns the fault of --retention.
func checkRetention(cmd *cobra.Command, retention time.Duration) error {
	if retention < leastRetention {
		return cli.UsageError(cmd, "--retention %s: the server keeps histories for at least 24h",
			retention)
	}
	return nil
}

// createNamespace creates the namespace of the connection unless it exists, and returns once it can
// be used.
func createNamespace(ctx context.Context, a *cli.App, c client.Client,
	retention time.Duration) error {
	name := a.Connection.ResolvedNamespace
	_, err := c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(retention)})
	if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); exists {
		return nil
	}
	if err != nil {
		return cli.Errorf(cli.ExitFailed, "cannot create namespace %q: %w", name, err)
	}
	if err := awaitNamespace(ctx, c, name); err != nil {
		return cli.Errorf(cli.ExitFailed,
			"namespace %q was created and cannot be used yet: %w\nRun setup again.", name, err)
	}
	if a.Format.JSON() {
		return nil
	}
	return a.Println("created namespace " + name)
}

// setRetention changes for how long the namespace of the connection keeps the histories of closed
// runs.
func setRetention(ctx context.Context, a *cli.App, c client.Client,
	retention time.Duration) error {
	name := a.Connection.ResolvedNamespace
	_, err := c.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: name, Config: &namespacepb.NamespaceConfig{
			WorkflowExecutionRetentionTtl: durationpb.New(retention)}})
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		return err
	}
	if err != nil {
		return cli.Errorf(cli.ExitFailed, "cannot change the retention of namespace %q: %w", name,
			err)
	}
	if a.Format.JSON() {
		return nil
	}
	return a.Println(fmt.Sprintf("namespace %s retains closed runs for %s", name,
		days(retention)))
}

// awaitNamespace waits until the server finds a namespace that was just created.
func awaitNamespace(ctx context.Context, c client.Client, name string) error {
	return awaitVisible(ctx, func(ctx context.Context) error {
		if _, err := c.WorkflowService().CountWorkflowExecutions(ctx,
			&workflowservice.CountWorkflowExecutionsRequest{Namespace: name}); err != nil {
			return err
		}
		_, err := c.OperatorService().ListSearchAttributes(ctx,
			&operatorservice.ListSearchAttributesRequest{Namespace: name})
		return err
	})
}

// awaitVisible repeats a request until the server knows what it names. The error is the last one
// that the server gave in time.
func awaitVisible(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, visible)
	defer cancel()
	tick := time.NewTicker(visibleAgain)
	defer tick.Stop()
	var last error
	for {
		err := request(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-tick.C:
		}
	}
}
