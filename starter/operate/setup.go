package operate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/runstart/attributes"
	"github.com/switchyard/switchyard/starter/cli"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
)

func setupCommand(a *cli.App) *cobra.Command {
	var create bool
	var retention time.Duration
	cmd := &cobra.Command{
		Use: "setup", GroupID: cli.GroupServer,
		Short: "Register Switchyard's search attributes on a server",
		Long: `Registers the search attributes that runs are found by: SwitchyardAgent, SwitchyardCaller,
SwitchyardConversation, SwitchyardKind, SwitchyardOutcome, SwitchyardTools, SwitchyardWaiting,
SwitchyardCalls, SwitchyardTokens, SwitchyardTurns, SwitchyardCost. Run it once per namespace;
repeating it is safe. The server of 'starter dev' has them.

With --create-namespace it creates the namespace first, unless it exists; the retention of an
existing namespace then stays. With --retention alone it changes the retention of the namespace.

A server on an SQL database supports few attributes per type. If some cannot be registered, the
others are, and runs set those; the exit code is 1.

Runs that started earlier, and runs of schedules created earlier, do not set attributes that
were missing then.`,
		Example: `  starter setup
  starter setup --address temporal.example.org:7233 --namespace agents
  starter setup --namespace agents --create-namespace --retention 720h
  starter setup --retention 2160h`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkRetention(cmd, retention); err != nil {
				return err
			}
			c, err := a.Connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			switch {
			case create:
				err = createNamespace(cmd.Context(), a, c, retention)
			case cmd.Flags().Changed("retention"):
				err = setRetention(cmd.Context(), a, c, retention)
			}
			if err != nil {
				return err
			}
			return register(cmd.Context(), a, c)
		},
	}
	cmd.Flags().BoolVar(&create, "create-namespace", false,
		"create the namespace unless it exists")
	cmd.Flags().DurationVar(&retention, "retention", defaultRetention,
		"`duration` for which the namespace keeps the histories of closed runs, such as 720h")
	return cmd
}

func register(ctx context.Context, a *cli.App, c client.Client) error {
	missing, taken, err := attributes.FindMissing(ctx, c, a.Connection.ResolvedNamespace)
	if err != nil {
		return err
	}
	refused, err := add(ctx, a, c, missing)
	isRefused := func(one attributes.Attribute) bool { return slices.Contains(refused, one) }
	added := slices.DeleteFunc(slices.Clone(missing), isRefused)
	if told := tellSetup(a, attributes.Names(added), len(refused)+
		len(taken) == 0); told != nil {
		return told
	}
	usable := slices.DeleteFunc(slices.Clone(attributes.Run), func(one attributes.Attribute) bool {
		_, isTaken := taken[one.Name]
		return isTaken || isRefused(one)
	})
	late := awaitAttributes(ctx, c, attributes.Names(usable))
	switch {
	case err != nil:
		return cli.Errorf(cli.ExitFailed,
			"cannot register %s: %w\nAsk the server's operator to add them or to free attribute slots. Until then runs do not set them.",
			attributes.TypedNames(refused), err)
	case len(taken) > 0:
		return cli.Errorf(cli.ExitFailed,
			"search attributes exist with other types than Switchyard's: %s\nAsk the server's operator to remove them, and run setup again. Until then runs do not set them.",
			taken.Text())
	case late != nil:
		return cli.Errorf(cli.ExitFailed,
			"search attributes cannot be used yet: %w\nRun setup again.", late)
	}
	return nil
}

// add registers attributes, one by one if the server rejects the batch. It returns the rejected
// ones and the reason.
func add(ctx context.Context, a *cli.App, c client.Client,
	list []attributes.Attribute) (refused []attributes.Attribute, why error) {
	if len(list) == 0 {
		return nil, nil
	}
	request := &operatorservice.AddSearchAttributesRequest{
		Namespace:        a.Connection.ResolvedNamespace,
		SearchAttributes: map[string]enumspb.IndexedValueType{}}
	for _, one := range list {
		request.SearchAttributes[one.Name] = one.Values
	}
	_, err := c.OperatorService().AddSearchAttributes(ctx, request)
	if _, both := errors.AsType[*serviceerror.AlreadyExists](err); err == nil || both {
		return nil, nil
	}
	if _, invalid := errors.AsType[*serviceerror.InvalidArgument](err); !invalid ||
		len(list) == 1 {
		return list, err
	}
	for i := range list {
		if r, err := add(ctx, a, c, list[i:i+1]); err != nil {
			refused, why = append(refused, r...), err
		}
	}
	return refused, why
}

// awaitAttributes waits until the server can search by the attributes: before, it rejects runs that
// set them. Who may not count runs cannot know when, and does not wait.
func awaitAttributes(ctx context.Context, c client.Client, names []string) error {
	query := "WorkflowId = 'none'" // the count is not of interest
	for _, name := range names {
		query += " AND " + name + " IS NULL"
	}
	var final error
	err := awaitVisible(ctx, func(ctx context.Context) error {
		_, err := c.CountWorkflow(ctx,
			&workflowservice.CountWorkflowExecutionsRequest{Query: query})
		if isUnknownYet(err) {
			return err
		}
		if _, denied := errors.AsType[*serviceerror.PermissionDenied](err); !denied {
			final = err
		}
		return nil
	})
	if err == nil {
		err = final
	}
	return err
}

// isUnknownYet reports whether a server does not know an attribute yet, or cannot say.
func isUnknownYet(err error) bool {
	return slices.Contains([]codes.Code{codes.InvalidArgument, codes.Unavailable,
		codes.DeadlineExceeded, codes.ResourceExhausted}, serviceerror.ToStatus(err).Code())
}

// tellSetup prints the registered attributes and the new ones. all is set if none is missing.
func tellSetup(a *cli.App, added []string, all bool) error {
	switch {
	case a.Format.JSON():
		return cli.WriteJSON(a.Out, map[string]any{"namespace": a.Connection.ResolvedNamespace,
			"attributes": attributes.Names(attributes.Run),
			"registered": append([]string{}, added...)}, false)
	case len(added) > 0:
		return a.Println("registered " + strings.Join(added, ", "))
	case all:
		return a.Println("all search attributes are registered")
	}
	return nil
}
