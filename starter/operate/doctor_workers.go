package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	enumspb "go.temporal.io/api/enums/v1"
)

func (d *doctor) workers(ctx context.Context) ([]finding, error) {
	workers, err := lanestate.Pollers(ctx, d.client, d.namespace, d.queue,
		enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, err
	}
	return []finding{reportServed(len(workers), "runs on the task queue "+d.queue,
		d.app.Connection.Invocation().WorkerCommand(d.queue, api.LaneGeneral))}, nil
}

func reportServed(n int, what, command string) finding {
	if n == 0 {
		return finding{markBad, "no worker serves " + what, "start one: " + command}
	}
	return finding{markGood, fmt.Sprintf("%s: %s", what, display.Plural(n, "worker")), ""}
}

// laneNames returns the names of the lanes with task queues.
func (d *doctor) laneNames() []string {
	return slices.DeleteFunc(d.lanes.Names(), func(name string) bool {
		return name == api.LaneInline
	})
}

// laneStates reports the workers of the lanes, and lanes whose task queues do not keep the order of
// calls.
func (d *doctor) laneStates(ctx context.Context) (findings []finding, err error) {
	var read []api.Lane
	for _, name := range d.laneNames() {
		lane, _ := d.lanes.Lane(name)
		read = append(read, lane)
	}
	states, err := lanestate.NewReader(d.client, d.namespace, d.queue).Read(ctx, read...)
	if errors.Is(err, history.ErrUnreadable) {
		return []finding{{markBad, "the holders of the lanes' slots cannot be read: " + cli.UnreadReason(err),
			"pass the --payload-keys and --payload-store of the workers"}}, nil
	}
	if err != nil {
		return nil, err
	}
	var divided []string
	for _, s := range states {
		findings = append(findings, d.lane(s))
		if s.Partitions > 1 {
			divided = append(divided, fmt.Sprintf("%s (%d)", s.Lane.Name, s.Partitions))
		}
	}
	if len(divided) > 0 {
		findings = append(findings, finding{markWarn, "task queues of lanes have several " +
			"partitions: " + strings.Join(divided, ", ") + "; order, priorities, fairness and " +
			"rates are exact only within a partition", "set in the server's dynamic configuration " +
			"matching.numTaskqueueReadPartitions and matching.numTaskqueueWritePartitions to 1"})
	}
	return findings, nil
}

// lane reports the workers of a lane, and for a lane with a limit the groups of slots that they
// hold.
func (d *doctor) lane(s lanestate.State) finding {
	what := "the lane " + s.Lane.Name
	command := d.files.WorkerCommand(d.app.Connection.Invocation(), d.queue, s.Lane.Name)
	hosted, groups := s.ServedGroups(), len(s.Holders)
	if !s.Lane.HasLimit() || hosted == 0 && len(s.Workers) == 0 {
		return reportServed(len(s.Workers), what, command)
	}
	f := finding{markGood, fmt.Sprintf("%s: %s, %d of %d groups of its slots are held", what,
		display.Plural(len(s.Workers), "worker"), hosted, groups), ""}
	if hosted == 0 || hosted < groups {
		f.Mark, f.Remedy = markWarn, "check again in a few seconds, because another worker takes "+
			"over from a lost one; or start one more: "+command
	}
	if hosted == 0 {
		f.Mark = markBad
	}
	return f
}

// catalogs queries the workers' catalogs: whether they agree, their folders' faults, and their
// policies.
func (d *doctor) catalogs(ctx context.Context) ([]finding, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.ReportTimeout)
	defer cancel()
	workers, err := cli.FindWorkers(ctx, d.client, d.namespace, d.queue, d.laneNames())
	if err != nil || len(workers) == 0 {
		return nil, nil // other checks report missing workers
	}
	report, err := cli.AskWorkers(ctx, d.client, d.queue, workers)
	if err != nil {
		return []finding{{markWarn, fmt.Sprintf("cannot ask the workers for their tools: %v",
			err), "check their logs"}}, nil
	}
	return d.evaluateHosted(report.Workers), nil
}

// reportFaults reports faulty files of a worker, which keeps what it loaded before.
func (d *doctor) reportFaults(w workerreport.Catalog) (findings []finding) {
	if w.Error != "" {
		findings = append(findings, finding{markBad, fmt.Sprintf(
			"the worker %s keeps its earlier tools because its folder has faults:%s", w.Worker,
			cli.Below(w.Error)),
			"correct them; " + d.app.Connection.Program() + " tools lint shows all faults"})
	}
	if p := w.Policies; p != nil && p.Error != "" {
		findings = append(findings, finding{markBad, fmt.Sprintf(
			"the worker %s keeps its earlier policies because its file %s has faults:%s", w.Worker,
			p.File, cli.Below(p.Error)),
			"correct them; " + d.app.Connection.Program() + " tools lint shows all faults"})
	}
	return findings
}

// evaluateHosted reports findings about the workers' catalogs.
func (d *doctor) evaluateHosted(workers []workerreport.Catalog) []finding {
	var findings []finding
	tools, rules := map[string]bool{}, map[string]bool{}
	text := ""
	for _, w := range workers {
		if w.Failure != "" {
			findings = append(findings,
				finding{markWarn, fmt.Sprintf("the worker %s does not answer: %s", w.Worker,
					w.Failure), "check its log"})
			continue
		}
		findings = append(findings, d.reportFaults(w)...)
		text = policiesText(w.Policies)
		tools[w.Digest], rules[policiesDigest(w.Policies)] = true, true
	}
	if len(tools) > 1 {
		findings = append(findings, finding{markWarn, "workers have different tools",
			"compare them: " + d.app.Connection.Invocation().Command("tools list --workers")})
	}
	switch {
	case len(rules) > 1:
		mark := markWarn
		if rules[""] {
			mark = markBad
		}
		findings = append(findings, finding{mark, "workers have different policies, and a run is " +
			"pinned to those of the worker that starts it:" +
			cli.Below(policiesByWorker(workers)),
			"start all workers with the same --policies-file"})
	case len(rules) == 1:
		findings = append(findings, finding{markGood, text, ""})
	}
	return findings
}

func policiesDigest(p *workerreport.Policies) string {
	if p == nil {
		return ""
	}
	return p.Digest
}

// policiesByWorker lists the policies of the workers that answered, one worker a line.
func policiesByWorker(workers []workerreport.Catalog) string {
	var lines []string
	for _, w := range workers {
		switch {
		case w.Failure != "":
		case w.Policies == nil:
			lines = append(lines, w.Worker+": none")
		default:
			lines = append(lines, fmt.Sprintf("%s: %s of %s, digest %.12s", w.Worker,
				display.Plural(w.Policies.Rules, "rule"), w.Policies.File, w.Policies.Digest))
		}
	}
	return strings.Join(lines, "\n")
}

// policiesText describes the policies that check calls.
func policiesText(p *workerreport.Policies) string {
	if p == nil {
		return "no policies are in force except those that agents name"
	}
	return fmt.Sprintf("policies in force: %s of %s", display.Plural(p.Rules, "rule"), p.File)
}
