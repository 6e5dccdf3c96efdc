package operate

import (
	"context"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
)

// files reports faults in the files that define the expected lanes.
func (d *doctor) files(context.Context) ([]finding, error) {
	if len(d.wrong) == 0 {
		return nil, nil
	}
	return []finding{{markWarn, specfiles.WhereFaults(d.wrong) +
		": only the lanes that can be read are checked",
		"show all: " + d.catalog.LintCommand(d.app.Connection.Program())}}, nil
}

// catalogs queries the workers' catalogs: whether they agree, their folders' faults, and their
// policies.
func (d *doctor) catalogs(ctx context.Context) ([]finding, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.ReportTimeout)
	defer cancel()
	workers, err := cli.FindWorkers(ctx, d.client, d.namespace, d.queue, d.lanes)
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
