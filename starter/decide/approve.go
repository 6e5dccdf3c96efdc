package decide

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/flagerrors"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

// decisionFlags hold the decision about a call.
type decisionFlags struct {
	reason, digest, edit, grant string
	by                          cli.ByFlag
	yes                         bool
}

func (f *decisionFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "`text` recorded with the decision")
	f.by.Add(cmd.Flags(), "decides")
}

func approveCommand(a *cli.App) *cobra.Command {
	var flags decisionFlags
	cmd := &cobra.Command{
		Use: "approve RUN [CALL]", GroupID: cli.GroupRuns,
		Short: "Approve a waiting call, unchanged or with edited arguments",
		Long: `Approves a call of a run, or of a sub-agent below it, that waits for approval. CALL is the ID
that 'starter approvals' prints, or the path that 'starter audit --tree' prints; it can be left
out if only one call waits. On a terminal the command shows the call and asks for confirmation.
Elsewhere pass --yes, or --digest with the digest of the reviewed call. The decision applies to
exactly that call, once.

With --edit the call runs with changed arguments. The JSON object is a merge patch (RFC 7396): its
keys replace the call's arguments, also in objects within; null removes one, and all others stay.
The command shows what changes. Edited arguments are validated like those of any call; if they are
invalid, all problems are listed and the call keeps waiting.

A run that reached a limit and asks for more waits as a call named limit. --grant sets the
additional amount.`,
		Example: `  starter approve demo-1a2b3c4d
  starter approve demo-1a2b3c4d 2.1 --reason "as agreed on Monday" --yes
  starter approve demo-1a2b3c4d 2.1 --edit '{"amount": 80}' --by ada
  starter approve demo-1a2b3c4d 2.1 --edit changed.json --yes
  starter approve demo-1a2b3c4d limit --grant calls=20,cost=1.50`,
		Args: cli.Arguments(1, "RUN", "CALL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := flags.decision(a, cmd)
			if err != nil {
				return err
			}
			return decideCall(a, cmd, args, d, flags.yes)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.digest, "digest", "",
		"`digest` of the reviewed call, as printed by 'starter approvals' (default: of the call shown now)")
	cmd.Flags().StringVar(&flags.edit, "edit", "",
		"changed arguments: a JSON object, or a `file` with one; - is standard input")
	cmd.Flags().StringVar(&flags.grant, "grant", "",
		"additional `amounts` for a run at a limit, such as calls=20,cost=1.50,wall_time=1h")
	cmd.Flags().BoolVarP(&flags.yes, "yes", "y", false, "approve the waiting call without asking")
	return cmd
}

func denyCommand(a *cli.App) *cobra.Command {
	var flags decisionFlags
	cmd := &cobra.Command{
		Use: "deny RUN [CALL]", GroupID: cli.GroupRuns,
		Short: "Deny a call that waits for approval",
		Long: `Denies a call of a run, or of a sub-agent below it, that waits for approval, without asking. The
call ends as approval_denied and its run continues. CALL is the ID that 'starter approvals' prints;
it can be left out if only one call waits.`,
		Example: `  starter deny demo-1a2b3c4d --reason "not before the audit"
  starter deny demo-1a2b3c4d 2.1 --reason "the wrong account" --by ada`,
		Args: cli.Arguments(1, "RUN", "CALL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d := api.Decision{Kind: api.DecisionDeny, By: flags.by.Name(), Reason: flags.reason}
			return decideCall(a, cmd, args, d, true)
		},
	}
	flags.add(cmd)
	return cmd
}

// decision builds the approval from the flags, without its call.
func (f *decisionFlags) decision(a *cli.App, cmd *cobra.Command) (d api.Decision, err error) {
	d = api.Decision{Kind: api.DecisionApprove, By: f.by.Name(), Reason: f.reason, Digest: f.digest}
	if cmd.Flags().Changed("edit") {
		d.Kind = api.DecisionEdit
		if d.Arguments, err = f.changes(a); err != nil {
			return d, cli.UsageError(cmd, "--edit: %v", err)
		}
	}
	if cmd.Flags().Changed("grant") {
		if d.Grant, err = parseGrant(f.grant); err != nil {
			return d, cli.UsageError(cmd, "--grant: %v", err)
		}
	}
	return d, nil
}

// decideCall connects and decides about the call that the arguments name.
func decideCall(a *cli.App, cmd *cobra.Command, args []string, d api.Decision, yes bool) error {
	d.Call = strings.Join(args[1:], "")
	return a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
		return decide(ctx, a, c, run, d, yes)
	})(cmd, args)
}

// grantTypes maps the numeric amounts to their types, as flagerrors.DescribeExpected spells them.
var grantTypes = map[string]string{"turns": "int", "calls": "int", "tokens": "int",
	"cost": "float64"}

// parseGrant parses amounts such as calls=20,cost=1.50.
func parseGrant(text string) (*api.Grant, error) {
	g := &api.Grant{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, err := cli.SplitPair(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		switch name {
		case "turns":
			g.Turns, err = strconv.Atoi(value)
		case "calls":
			g.Calls, err = strconv.Atoi(value)
		case "tokens":
			g.Tokens, err = strconv.Atoi(value)
		case "cost":
			g.Cost, err = strconv.ParseFloat(value, 64)
		case "wall_time":
			err = g.WallTime.UnmarshalText([]byte(value))
		default:
			return nil, fmt.Errorf(
				"there is no %q to grant; there are: turns, calls, tokens, cost, wall_time", name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %s", name, value, flagerrors.DescribeExpected(grantTypes[name], err))
		}
	}
	return g, nil
}

// decide sends a decision about a call of the run or one of its sub-agents.
func decide(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef, d api.Decision,
	yes bool) error {
	open, err := a.Handle(c, run).Approvals(ctx)
	if err != nil {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	if d.Call == "" && d.Digest != "" {
		open = slices.DeleteFunc(open,
			func(o switchyard.Approval) bool { return o.Digest != d.Digest })
	}
	i, err := pickCall(a.Connection.Invocation(), run, open, d)
	if err != nil {
		return err
	}
	if i >= 0 {
		d.Call = open[i].Call
		run = below(run, open[i].WorkflowID)
		look := seeing{app: a, yes: yes, arguments: func() json.RawMessage {
			return waitingCall(ctx, a.Handle(c, run), d.Call)
		}}
		if err := look.seen(open[i], &d); err != nil {
			return err
		}
	}
	if err := a.Handle(c, run).Decide(ctx, d); err != nil {
		return replyError(ctx, a, run, "decision for call "+d.Call, "The call still waits.", err)
	}
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, struct {
			WorkflowID string `json:"workflow_id"`
			api.Decision
		}{run.WorkflowID, d}, false)
	}
	return a.Println(fmt.Sprintf("call %s of run %s is %s", d.Call, run.WorkflowID,
		cli.PlainText(people.DecisionNote(d))))
}

// pickCall returns the index of the call that a decision is about, as pick does.
func pickCall(inv cli.Invocation, run *cli.RunRef, open []switchyard.Approval,
	d api.Decision) (int, error) {
	command := "approve"
	if d.Kind == api.DecisionDeny {
		command = "deny"
	}
	var all []waiting
	for _, o := range open {
		all = append(all, waiting{o.WorkflowID, o.Call, inv.Command(command, o.WorkflowID, o.Call)})
	}
	return pick(run, all, d.Call, fmt.Sprintf("no call of the run %q waits for approval\n"+
		"List the waiting calls of all runs: %s", run.WorkflowID, inv.Command("approvals")))
}

// seeing shows a call to the person who decides. With yes the person is not asked.
type seeing struct {
	app *cli.App
	yes bool
	// arguments returns the arguments of the call, with sensitive values redacted; nil if they are
	// not known.
	arguments func() json.RawMessage
}

// seen shows the call, asks for confirmation unless the decision names its digest, and binds the
// decision to it.
func (s seeing) seen(o switchyard.Approval, d *api.Decision) error {
	a := s.app
	if d.Digest != "" {
		return nil
	}
	d.Digest = o.Digest
	if d.Kind == api.DecisionDeny {
		return nil
	}
	if !a.Format.JSON() {
		terminal.NewAsked(a, a.Err).WriteApproval(o, time.Now())
	}
	question := "Approve this call?"
	if d.Kind == api.DecisionEdit {
		question = "Approve this call as edited?"
		s.showEdit(d.Arguments)
	}
	return s.confirm(o, question)
}

// confirm asks whether the call is approved.
func (s seeing) confirm(o switchyard.Approval, question string) error {
	a := s.app
	switch {
	case s.yes:
		return nil
	case o.Partial && !s.showArguments():
		return cli.Errorf(cli.ExitFailed, "nothing was approved: the arguments of the call cannot "+
			"be shown in full\nReview the call elsewhere and pass --digest %s", o.Digest)
	case a.Format.JSON() || !cli.IsTerminal(a.In):
		return cli.Errorf(cli.ExitUsage,
			"nothing was approved: cannot ask for confirmation without a terminal\nReview the call and pass --yes or --digest %s",
			o.Digest)
	case !a.Confirm(question):
		return cli.Errorf(cli.ExitCancelled, "nothing was approved")
	}
	return nil
}

// showArguments shows the arguments of a call whose text does not show all in full. It reports
// false if they are not known.
func (s seeing) showArguments() bool {
	arguments := s.arguments()
	if len(arguments) == 0 {
		return false
	}
	if !s.app.Format.JSON() {
		fmt.Fprintln(s.app.Err, s.app.PaletteFor(s.app.Err).Bold("  all arguments")+"\n"+
			cli.ReadableJSON(arguments))
	}
	return true
}
