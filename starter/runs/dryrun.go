package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/toolspecs/plans"

	"github.com/switchyard/switchyard/audit/history"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

// dryRunUsage is the help text of --dry-run.
const dryRunUsage = "call only tools that read; other calls are withheld, described, and can run later as a plan"

// dryRunFlags select a dry run whose withheld calls become a plan.
type dryRunFlags struct {
	run, by, digest string
}

func (d *dryRunFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.run, "from-dry-run", "",
		"`ID` of a dry run whose withheld calls are the plan; the plan is printed, and run if --by is set")
	f.StringVar(&d.by, "by", "", "`name` of the person who reviewed and releases that plan")
	f.StringVar(&d.digest, "digest", "", "expected `digest` of the plan, as printed")
}

// check rejects conflicting flags and arguments.
func (d *dryRunFlags) check(cmd *cobra.Command, args []string) error {
	if d.by = strings.TrimSpace(d.by); api.IsBlankIdentity(d.by) && cmd.Flags().Changed("by") {
		return cli.UsageError(cmd, "--by is empty: name the person who releases the plan")
	}
	return d.batching(cmd, args)
}

func (d *dryRunFlags) batching(cmd *cobra.Command, args []string) error {
	switch {
	case d.run == "" && (d.by != "" || d.digest != ""):
		return cli.UsageError(cmd, "--by and --digest require --from-dry-run")
	case d.run == "":
		return cli.Arguments(1, "PLAN.yaml")(cmd, args)
	case len(args) > 0:
		return cli.UsageError(cmd, "a plan file and --from-dry-run exclude each other")
	case d.digest != "" && d.by == "":
		return cli.UsageError(cmd, "--digest requires --by, the person who releases the plan")
	}
	return nil
}

// dryPlan is the plan of a dry run's withheld calls.
type dryPlan struct {
	api.Plan
	Digest string `json:"digest"`
	// Run is the ID of the dry run.
	Run          string `json:"dry_run"`
	Conversation string `json:"conversation,omitempty"`

	calls []api.WithheldCall
	runID string
}

// planFromDryRun reads the plan of a dry run and prints or starts it.
func planFromDryRun(a *cli.App, cmd *cobra.Command, flags *startFlags, d *dryRunFlags) error {
	if flags.id != "" {
		return cli.UsageError(cmd,
			"the plan of a dry run has the ID %s-plan, so that it runs once: leave out --id", d.run)
	}
	var plan dryPlan
	err := a.WithClient(cmd, func(ctx context.Context, c client.Client) (err error) {
		plan, err = readDryPlan(ctx, a, c, d.run)
		return err
	})
	if err != nil {
		return err
	}
	if d.by == "" {
		return printDryPlan(a, plan)
	}
	if d.digest != "" && d.digest != plan.Digest {
		return cli.Errorf(cli.ExitUsage,
			"the plan of %s has the digest %s, not %s; nothing was started\nReview it again: %s",
			d.run, plan.Digest, d.digest, a.Connection.Invocation().Command("plan --from-dry-run",
				d.run))
	}
	flags.caller = cmp.Or(flags.caller, d.by)
	flags.conversation = cmp.Or(flags.conversation, plan.Conversation)
	// The ID is derived from the dry run's, so the server rejects a second start of its plan.
	flags.id = d.run + "-plan"
	s, err := flags.newStart(cmd, api.CallerPlan, api.PlanWorkflow, plan.Name)
	if err != nil {
		return err
	}
	packed := api.Pack(plan.Plan)
	s.input.Plan = &packed
	s.input.FromDryRun = &api.FromDryRun{WorkflowID: d.run, Run: plan.runID, Digest: plan.Digest,
		By: d.by}
	return startRun(a, cmd, s, flags, func(ctx context.Context, f *follower) error {
		f.view, f.whole, f.each = terminal.NewView(a, a.Out), true, true
		return followToReport(ctx, a, f)
	})
}

func readDryPlan(ctx context.Context, a *cli.App, c client.Client, run string) (dryPlan, error) {
	summary, err := audit.Describe(ctx, c, run, "")
	if err != nil {
		return dryPlan{}, a.LookupError(run, "", err)
	}
	switch {
	case !summary.DryRun:
		return dryPlan{}, cli.Errorf(cli.ExitUsage, "%s was not a dry run; start one: %s", run,
			a.Connection.Invocation().Command("run AGENT.yaml … --dry-run"))
	case summary.Status == history.RunRunning:
		return dryPlan{}, cli.Errorf(cli.ExitUsage,
			"the dry run %s is still running; wait for its end: %s", run,
			a.Connection.Invocation().Command("watch", run))
	}
	calls, err := audit.Withheld(ctx, c, run, summary.Run)
	if err != nil {
		return dryPlan{}, a.LookupError(run, "", err)
	}
	if len(calls) == 0 {
		return dryPlan{}, cli.Errorf(cli.ExitUsage,
			"the dry run %s withheld no calls; there is nothing to run", run)
	}
	plan, err := api.PlanOfDryRun(summary.Name, calls)
	if err != nil {
		return dryPlan{}, cli.Errorf(cli.ExitFailed,
			"the withheld calls of %s are not a valid plan: %w", run, err)
	}
	digest, err := api.PlanDigest(plan)
	return dryPlan{Plan: plan, Digest: digest, Run: run, Conversation: summary.Conversation,
		calls: calls, runID: summary.Run}, err
}

// printDryPlan prints the plan as a plan file or as JSON.
func printDryPlan(a *cli.App, plan dryPlan) error {
	run := plan.Plan
	plan.Plan = run.Shown(plan.calls)
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, plan, true)
	}
	data, err := plans.YAML(plan.Plan)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "# Calls withheld by the dry run %s, in order. Digest of the plan: %s.\n",
		plan.Run, plan.Digest)
	fmt.Fprintf(a.Out, "# Each call has the digest of its tool in the dry run. If a tool has changed since, nothing starts.\n")
	if slices.ContainsFunc(plan.calls, func(c api.WithheldCall) bool { return c.Mask != nil }) {
		fmt.Fprintf(a.Out, "# Sensitive arguments are redacted here but not in the plan that runs.\n")
	}
	if err := a.Print(string(data)); err != nil {
		return err
	}
	fmt.Fprintln(a.Err, "nothing was started; run exactly these calls: "+
		a.Connection.Invocation().Command("plan --from-dry-run", plan.Run)+" --by NAME --digest "+
		plan.Digest)
	return nil
}

// printWithheld lists the calls that a dry run withheld.
func printWithheld(ctx context.Context, a *cli.App, f *follower) error {
	calls, err := audit.Withheld(ctx, f.client, f.id, f.run)
	if err != nil {
		return a.LookupError(f.id, f.run, err)
	}
	p := a.PaletteFor(a.Out)
	if len(calls) == 0 {
		return a.Println("\n" + p.Bold("dry run ") + "  no call was withheld")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s  withheld calls:\n", p.Bold("dry run "))
	t := cli.Table{Header: []string{"call", "tool", "arguments"}}
	for _, c := range calls {
		arguments := strings.TrimSpace(api.Summary("", c.Mask.Redact(c.Arguments), nil))
		t.Add(c.Path, c.Tool, api.Shorten(arguments, 80))
	}
	b.WriteString(t.Text(p))
	fmt.Fprintf(&b, "review the plan and run it: %s\n",
		a.Connection.Invocation().Command("plan --from-dry-run", f.id))
	return a.Print(b.String())
}
