package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/toolspecs/plans"
	"go.temporal.io/sdk/client"
)

// dryRunUsage is the help of --dry-run.
const dryRunUsage = "call only tools that read; all other calls are answered with what they would have done, and can be made later as a plan"

// dryRunFlags name a dry run whose withheld calls are a plan.
type dryRunFlags struct {
	run, by, digest string
}

func (d *dryRunFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.run, "from-dry-run", "", "`id` of a dry run: its withheld calls are the plan, which is printed, and run where --by is given")
	f.StringVar(&d.by, "by", "", "`name` of the person who has read that plan and lets it run")
	f.StringVar(&d.digest, "digest", "", "`digest` that the plan must have, as it was printed")
}

// check refuses what does not go together.
func (d *dryRunFlags) check(cmd *cobra.Command, args []string) error {
	if d.by = strings.TrimSpace(d.by); api.IsBlankIdentity(d.by) && cmd.Flags().Changed("by") {
		return usageError(cmd, "--by does not say who lets the plan run")
	}
	return d.batching(cmd, args)
}

func (d *dryRunFlags) batching(cmd *cobra.Command, args []string) error {
	switch {
	case d.run == "" && (d.by != "" || d.digest != ""):
		return usageError(cmd, "--by and --digest are about the plan of a dry run: name it with --from-dry-run")
	case d.run == "":
		return arguments(1, "PLAN.yaml")(cmd, args)
	case len(args) > 0:
		return usageError(cmd, "give a plan file or --from-dry-run, not both")
	case d.digest != "" && d.by == "":
		return usageError(cmd, "--digest is for a plan that is to run: say who lets it run with --by")
	}
	return nil
}

// dryPlan is the plan of a dry run's withheld calls.
type dryPlan struct {
	api.Plan
	Digest string `json:"digest"`
	// Run is the dry run.
	Run          string `json:"dry_run"`
	Conversation string `json:"conversation,omitempty"`

	calls []api.WithheldCall
	runID string
}

// planFromDryRun reads the plan of a dry run, and prints it or starts it.
func (a *app) planFromDryRun(cmd *cobra.Command, flags *startFlags, d *dryRunFlags) error {
	if flags.id != "" {
		return usageError(cmd, "the plan of a dry run has the id %s-plan, so that it runs once: leave out --id", d.run)
	}
	var plan dryPlan
	err := a.connected(cmd, func(ctx context.Context, c client.Client) (err error) {
		plan, err = a.readDryPlan(ctx, c, d.run)
		return err
	})
	if err != nil {
		return err
	}
	if d.by == "" {
		return a.printDryPlan(plan)
	}
	if d.digest != "" && d.digest != plan.Digest {
		return failure(exitUsage, "the plan of %s has the digest %s, not %s; nothing was started\nRead it once more: %s", d.run, plan.Digest, d.digest, a.connection.reach().command("plan --from-dry-run", d.run))
	}
	flags.caller = cmp.Or(flags.caller, d.by)
	flags.conversation = cmp.Or(flags.conversation, plan.Conversation)
	// One id for each dry run, and no other: the server does not let its plan run twice.
	flags.id = d.run + "-plan"
	s, err := flags.newStart(cmd, api.CallerPlan, api.PlanWorkflow, plan.Name)
	if err != nil {
		return err
	}
	packed := api.Pack(plan.Plan)
	s.input.Plan = &packed
	s.input.FromDryRun = &api.FromDryRun{WorkflowID: d.run, Run: plan.runID, Digest: plan.Digest, By: d.by}
	return a.startRun(cmd, s, flags, func(ctx context.Context, f *follower) error {
		f.view, f.whole, f.each = a.newView(a.Out), true, true
		return a.followToReport(ctx, f)
	})
}

func (a *app) readDryPlan(ctx context.Context, c client.Client, run string) (dryPlan, error) {
	summary, err := audit.Describe(ctx, c, run, "")
	if err != nil {
		return dryPlan{}, a.lookupError(run, "", err)
	}
	switch {
	case !summary.DryRun:
		return dryPlan{}, failure(exitUsage, "%s was no dry run; make one: %s", run, a.connection.reach().command("run AGENT.yaml … --dry-run"))
	case summary.Status == history.RunRunning:
		return dryPlan{}, failure(exitUsage, "the dry run %s goes on; wait for its end: %s", run, a.connection.reach().command("watch", run))
	}
	calls, err := audit.Withheld(ctx, c, run, summary.Run)
	if err != nil {
		return dryPlan{}, a.lookupError(run, "", err)
	}
	if len(calls) == 0 {
		return dryPlan{}, failure(exitUsage, "the dry run %s withheld no call: there is nothing to be done", run)
	}
	plan, err := api.PlanOfDryRun(summary.Name, calls)
	if err != nil {
		return dryPlan{}, failure(exitFailed, "the withheld calls of %s make no plan: %w", run, err)
	}
	digest, err := api.PlanDigest(plan)
	return dryPlan{Plan: plan, Digest: digest, Run: run, Conversation: summary.Conversation, calls: calls, runID: summary.Run}, err
}

// printDryPlan prints the plan: as a plan file, or as JSON.
func (a *app) printDryPlan(plan dryPlan) error {
	run := plan.Plan
	plan.Plan = run.Shown(plan.calls)
	if a.format.json() {
		return writeJSON(a.Out, plan, true)
	}
	data, err := plans.YAML(plan.Plan)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "# The calls that the dry run %s withheld, one after the other. The digest of the whole plan is %s.\n", plan.Run, plan.Digest)
	fmt.Fprintf(a.Out, "# The digest of a call is that of its tool as it was in the dry run: nothing starts where that has changed since.\n")
	if slices.ContainsFunc(plan.calls, func(c api.WithheldCall) bool { return c.Mask != nil }) {
		fmt.Fprintf(a.Out, "# Values of sensitive arguments are not shown; the plan that runs has them.\n")
	}
	if err := a.print(string(data)); err != nil {
		return err
	}
	fmt.Fprintln(a.Err, "nothing was started; let exactly these calls run: "+a.connection.reach().command("plan --from-dry-run", plan.Run)+" --by NAME --digest "+plan.Digest)
	return nil
}

// printWithheld tells at the end of a dry run what it did not do.
func (a *app) printWithheld(ctx context.Context, f *follower) error {
	calls, err := audit.Withheld(ctx, f.client, f.id, f.run)
	if err != nil {
		return a.lookupError(f.id, f.run, err)
	}
	p := a.paletteFor(a.Out)
	if len(calls) == 0 {
		return a.println("\n" + p.bold("dry run ") + "  no call was withheld")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s  withheld, and not done:\n", p.bold("dry run "))
	t := table{header: []string{"call", "tool", "arguments"}}
	for _, c := range calls {
		arguments := strings.TrimSpace(api.Summary("", c.Mask.Redact(c.Arguments), nil))
		t.add(c.Path, c.Tool, api.Shorten(arguments, 80))
	}
	b.WriteString(t.text(p))
	fmt.Fprintf(&b, "read the whole plan, and how to let it run: %s\n", a.connection.reach().command("plan --from-dry-run", f.id))
	return a.print(b.String())
}
