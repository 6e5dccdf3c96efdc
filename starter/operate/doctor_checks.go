package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/internal/runstart/attributes"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

// Reference values of doctor's measurements, measured on tuned and untuned servers. See the
// documentation of devserver.
const (
	samples     = 11
	slowAnswer  = 50 * time.Millisecond
	eagerServer = 30 // the minor version of server 1 from which on eager calls are on by default
)

// dynamicConfig returns a hint to set values in the server's dynamic configuration, in the format
// of its file. Each setting is "key: value"; scope says where they apply, and may be empty.
func dynamicConfig(scope string, settings ...string) string {
	var b strings.Builder
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, ": ")
		fmt.Fprintf(&b, "\n%s:\n  - value: %s", key, value)
	}
	if scope != "" {
		scope = ", " + scope
	}
	return "set in the server's dynamic configuration" + scope + ":" +
		cli.Below(strings.TrimPrefix(b.String(), "\n"))
}

func (d *doctor) server(ctx context.Context) ([]finding, error) {
	info, err := d.client.WorkflowService().GetClusterInfo(ctx,
		&workflowservice.GetClusterInfoRequest{})
	if err != nil && connection.Code(err) != 0 && cli.Unreachable(err) {
		return nil, err
	}
	version := info.GetServerVersion()
	if err != nil || version == "" {
		return []finding{{markGood, "the server at " + d.app.Connection.ResolvedAddress +
			" answers", ""}}, nil
	}
	findings := []finding{{markGood, fmt.Sprintf("the server at %s answers, version %s",
		d.app.Connection.ResolvedAddress, version), ""}}
	if major, minor := parseVersion(version); major == 1 && minor < eagerServer {
		findings = append(findings,
			finding{markWarn, "servers before 1.30 do not dispatch calls eagerly by default",
				"use a newer server, or " +
					dynamicConfig("", "system.enableActivityEagerExecution: true")})
	}
	return findings, nil
}

func parseVersion(text string) (major, minor int) {
	parts := strings.SplitN(text, ".", 3)
	if len(parts) < 2 {
		return 0, 0
	}
	major, _ = strconv.Atoi(parts[0]) // text that is not a number counts as 0, to which no rule applies
	minor, _ = strconv.Atoi(parts[1])
	return major, minor
}

func (d *doctor) namespaces(ctx context.Context) ([]finding, error) {
	answer, err := d.client.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: d.namespace})
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		d.unusable = true
		return []finding{{markBad, fmt.Sprintf("there is no namespace %q", d.namespace),
			"choose another with --namespace, or create it: " +
				d.app.Connection.Invocation().Command("setup", "--create-namespace")}}, nil
	}
	if err != nil {
		return nil, err
	}
	kept := answer.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	return []finding{d.describeRetention(kept)}, nil
}

// shortRetention is the retention below which doctor warns.
const shortRetention = 7 * 24 * time.Hour

// describeRetention describes for how long the namespace keeps the histories of closed runs.
func (d *doctor) describeRetention(kept time.Duration) finding {
	f := finding{markGood, fmt.Sprintf("namespace %s, finished runs are retained for %s",
		d.namespace, days(kept)), ""}
	if kept < shortRetention {
		f.Mark = markWarn
		f.Text += "; records, reports and conversations read their histories"
		f.Remedy = "keep them longer: " + d.app.Connection.Invocation().Command(
			"setup", "--retention",
			fmt.Sprintf("%.0fh", defaultRetention.Hours()))
	}
	return f
}

func days(d time.Duration) string {
	if d >= 48*time.Hour {
		return display.Plural(int(d/(24*time.Hour)), "day")
	}
	return cli.ShortDuration(d)
}

func (d *doctor) attributes(ctx context.Context) ([]finding, error) {
	missing, taken, err := attributes.FindMissing(ctx, d.client, d.namespace)
	if err != nil {
		return []finding{{markWarn, fmt.Sprintf("cannot list the search attributes: %v", err),
			"check the permissions with the server's operator"}}, nil
	}
	var findings []finding
	if len(missing) > 0 {
		findings = append(findings, finding{markWarn, "search attributes are missing: " +
			strings.Join(attributes.Names(missing), ", "),
			d.app.Connection.Invocation().Command("setup")})
	}
	if len(taken) > 0 {
		findings = append(findings,
			finding{markWarn, "search attributes have other types than Switchyard's: " +
				taken.Text(),
				"runs do not set them: ask the server's operator to remove them, then run " +
					d.app.Connection.Invocation().Command("setup")})
	}
	if len(findings) == 0 {
		findings = []finding{{markGood, "all search attributes are registered", ""}}
	}
	return findings, nil
}

// latency measures the round trip of a request that the server answers from memory.
func (d *doctor) latency(ctx context.Context) ([]finding, error) {
	took := make([]time.Duration, samples)
	for i := range took {
		began := time.Now()
		_, err := d.client.WorkflowService().DescribeNamespace(ctx,
			&workflowservice.DescribeNamespaceRequest{Namespace: d.namespace})
		if err != nil && cli.Unreachable(err) {
			return nil, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	median := took[samples/2]
	f := finding{markGood, fmt.Sprintf("a request takes %s (median of %d)",
		cli.ShortDuration(median), samples), ""}
	if median > slowAnswer {
		f.Mark, f.Remedy = markWarn,
			"every call costs several round trips between worker and server: run workers near the server"
	}
	return []finding{f}, nil
}

func (d *doctor) workers(ctx context.Context) ([]finding, error) {
	workers, err := lanestate.Pollers(ctx, d.client, d.namespace, d.queue,
		enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, err
	}
	return []finding{reportServed(len(workers), fmt.Sprintf("runs on the task queue %s", d.queue),
		d.app.Connection.Invocation().WorkerCommand(d.queue, api.LaneGeneral))}, nil
}

func reportServed(n int, what, command string) finding {
	if n == 0 {
		return finding{markBad, "no worker serves " + what, "start one: " + command}
	}
	return finding{markGood, fmt.Sprintf("%s: %s", what, display.Plural(n, "worker")), ""}
}
