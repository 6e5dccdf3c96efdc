package decide

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
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
	cmd.Flags().StringVar(&f.digest, "digest", "",
		"`digest` of the reviewed call, as printed by 'starter approvals' (default: of the call shown now)")
}

func approveCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
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
		Args: cli.Arguments(0, "RUN", "CALL"),
		RunE: onDecision(a, &ref, &flags, api.DecisionApprove),
	}
	ref.Add(cmd.Flags())
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.edit, "edit", "",
		"changed arguments: a JSON object, or a `file` with one; - is standard input")
	cmd.Flags().StringVar(&flags.grant, "grant", "",
		"additional `amounts` for a run at a limit, such as calls=20,cost=1.50,wall_time=1h")
	cmd.Flags().BoolVarP(&flags.yes, "yes", "y", false, "approve the waiting call without asking")
	return cmd
}

func denyCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	var flags decisionFlags
	cmd := &cobra.Command{
		Use: "deny RUN [CALL]", GroupID: cli.GroupRuns,
		Short: "Deny a call that waits for approval",
		Long: `Denies a call of a run, or of a sub-agent below it, that waits for approval. The call ends as
approval_denied and its run continues. CALL is the ID that 'starter approvals' prints; it can be
left out if only one call waits.`,
		Example: `  starter deny demo-1a2b3c4d --reason "not before the audit"
  starter deny demo-1a2b3c4d 2.1 --reason "the wrong account" --by ada`,
		Args: cli.Arguments(0, "RUN", "CALL"),
		RunE: onDecision(a, &ref, &flags, api.DecisionDeny),
	}
	ref.Add(cmd.Flags())
	flags.add(cmd)
	cmd.Flags().BoolVarP(&flags.yes, "yes", "y", false,
		"accepted for symmetry with approve; deny never asks")
	return cmd
}

// onDecision resolves the run, connects, and decides about a call.
func onDecision(a *cli.App, ref *cli.RunRef, flags *decisionFlags,
	kind api.DecisionKind) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		d := api.Decision{Kind: kind, By: flags.by.Name(), Reason: flags.reason,
			Digest: flags.digest}
		if cmd.Flags().Changed("edit") {
			arguments, err := flags.changes(a)
			if err != nil {
				return cli.UsageError(cmd, "--edit: %v", err)
			}
			d.Kind, d.Arguments = api.DecisionEdit, arguments
		}
		if cmd.Flags().Changed("grant") {
			grant, err := parseGrant(flags.grant)
			if err != nil {
				return cli.UsageError(cmd, "--grant: %v", err)
			}
			d.Grant = grant
		}
		if len(args) > 0 && ref.WorkflowID == "" {
			ref.WorkflowID, args = args[0], args[1:]
		}
		if len(args) > 1 {
			return cli.UsageError(cmd, "unexpected argument %q", args[1])
		}
		d.Call = strings.Join(args, "")
		checked := d
		checked.Call = cmp.Or(d.Call, "1.1") // it may be found out later
		if e := people.CheckDecision(checked); e != nil {
			return cli.UsageError(cmd, "%v", e)
		}
		return a.OnRun(ref, func(ctx context.Context, c client.Client, run *cli.RunRef) error {
			return decide(ctx, a, c, run, d, flags.yes)
		})(cmd, nil)
	}
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
	open, err := audit.Approvals(ctx, c, run.WorkflowID, run.RunID)
	if err != nil {
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	look := seeing{app: a, yes: yes,
		arguments: func(o audit.RunApproval) json.RawMessage { return waitingCall(ctx, c, o) }}
	target, err := look.meant(run, open, &d)
	if err != nil {
		return err
	}
	err = a.Handle(c, target).Decide(ctx, d)
	switch {
	case err != nil && ctx.Err() != nil:
		return cli.Errorf(cli.ExitCancelled,
			"interrupted; the run may still accept the decision\nCheck: %s",
			a.Connection.Invocation().Command("show", target.WorkflowID))
	case err != nil:
		return decisionError(a, target.WorkflowID, d, err)
	}
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, map[string]any{"workflow_id": target.WorkflowID, "call": d.Call,
			"decision": d.Kind, "by": d.By}, false)
	}
	return a.Println(fmt.Sprintf("call %s of run %s is %s", d.Call, target.WorkflowID,
		cli.PlainText(people.DecisionNote(d))))
}

// seeing shows calls to the person who decides. With yes the person is not asked.
type seeing struct {
	app *cli.App
	yes bool
	// arguments returns the arguments of a waiting call, with sensitive values redacted; nil if
	// they are not known.
	arguments func(audit.RunApproval) json.RawMessage
}

// meant selects the call and its run, shows the call, and binds the decision to it. Calls that are
// not waiting are passed to the run, which knows their state.
func (s seeing) meant(run *cli.RunRef, open []audit.RunApproval,
	d *api.Decision) (*cli.RunRef, error) {
	fits := matchApprovals(run, open, *d)
	inv := s.app.Connection.Invocation()
	switch {
	case len(fits) == 0 && d.Call != "":
		return run, nil
	case len(fits) == 0:
		return nil, cli.Errorf(cli.ExitFailed,
			"no call of the run %q waits for approval\nList the waiting calls of all runs: %s",
			run.WorkflowID, inv.Command("approvals"))
	case len(fits) > 1:
		lines := make([]string, len(fits))
		for i, o := range fits {
			lines[i] = "\n  " + inv.Command(deciding[d.Kind], o.WorkflowID, o.Call)
		}
		return nil, cli.Errorf(cli.ExitUsage, "%d calls match; select one:%s", len(fits),
			strings.Join(lines, ""))
	}
	o := fits[0]
	d.Call = o.Call
	if err := s.seen(inv, o, d); err != nil {
		return nil, err
	}
	if o.WorkflowID == run.WorkflowID {
		return run, nil
	}
	return &cli.RunRef{WorkflowID: o.WorkflowID}, nil
}

// matchApprovals returns the calls that a decision can refer to, by ID or by the path below the
// run. Of
// two with the same ID it prefers the run's own.
func matchApprovals(run *cli.RunRef, open []audit.RunApproval, d api.Decision) []audit.RunApproval {
	fits := slices.DeleteFunc(slices.Clone(open), func(o audit.RunApproval) bool {
		if d.Call == "" {
			return d.Digest != "" && o.Digest != d.Digest
		}
		path := api.CallPath(run.WorkflowID, d.Call)
		return o.Call != d.Call && api.CallPath(o.WorkflowID, o.Call) != path
	})
	if own := slices.IndexFunc(fits,
		func(o audit.RunApproval) bool { return o.WorkflowID == run.WorkflowID }); own >= 0 &&
		d.Call != "" {
		return fits[own : own+1]
	}
	return fits
}

// deciding maps decisions to their commands.
var deciding = map[api.DecisionKind]string{api.DecisionApprove: "approve",
	api.DecisionEdit: "approve", api.DecisionDeny: "deny"}

// seen shows the call, asks for confirmation unless the decision names its digest, and binds the
// decision to it.
func (s seeing) seen(inv cli.Invocation, o audit.RunApproval, d *api.Decision) error {
	a := s.app
	if d.Digest != "" {
		return nil
	}
	d.Digest = o.Digest
	if d.Kind == api.DecisionDeny {
		return nil
	}
	if !a.Format.JSON() {
		terminal.WriteApproval(&a.Format, a.Err, a.PaletteFor(a.Err), terminal.ApprovalsToList(inv,
			[]audit.RunApproval{o})[0], time.Now())
	}
	question := "Approve this call?"
	if d.Kind == api.DecisionEdit {
		question = "Approve this call as edited?"
		s.showEdit(o, d.Arguments)
	}
	return s.confirm(o, question)
}

// confirm asks whether the call is approved.
func (s seeing) confirm(o audit.RunApproval, question string) error {
	a := s.app
	switch {
	case s.yes:
		return nil
	case o.Partial && !s.showArguments(o):
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
func (s seeing) showArguments(o audit.RunApproval) bool {
	arguments := s.arguments(o)
	if len(arguments) == 0 {
		return false
	}
	if !s.app.Format.JSON() {
		fmt.Fprintln(s.app.Err, s.app.PaletteFor(s.app.Err).Bold("  all arguments")+"\n"+
			cli.ReadableJSON(arguments))
	}
	return true
}

// decisionError explains why a decision was not accepted.
func decisionError(a *cli.App, id string, d api.Decision, err error) error {
	inv := a.Connection.Invocation()
	refused, ok := refusal(err)
	switch {
	case !ok:
		return a.ControlError(&cli.RunRef{WorkflowID: id}, err)
	case refused.Type == api.DecisionUnfit || refused.Type == api.ReplyMalformed:
		text := refused.Message
		for _, p := range refused.Problems {
			text += "\n  " + p.String()
		}
		return cli.Errorf(cli.ExitUsage, "%s\nThe call still waits.", text)
	}
	return cli.Errorf(cli.ExitFailed,
		"the decision for call %s was rejected: %s\nList the waiting calls: %s", d.Call,
		refused.Message, inv.Command("approvals", id))
}
