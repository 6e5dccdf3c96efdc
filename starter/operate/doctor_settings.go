package operate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/internal/cli"
	enumspb "go.temporal.io/api/enums/v1"
)

// The limits of a server that sets none, for each frontend and namespace.
const (
	// usualPolls is frontend.namespaceCount: the concurrent polls for activities.
	usualPolls = 1200
	// usualRate is frontend.namespaceRPS: the requests per second.
	usualRate = 2400
)

// rejectedRecently is the age up to which a rejected request is a problem.
const rejectedRecently = 10 * time.Minute

// evaluateSettings reports settings of the workers that do not fit the server.
func (d *doctor) evaluateSettings(workers []api.WorkerCatalog, now time.Time) []finding {
	workers = slices.DeleteFunc(slices.Clone(workers), func(w api.WorkerCatalog) bool {
		return w.Failure != "" || w.Settings == nil
	})
	if len(workers) == 0 {
		return nil
	}
	findings := slices.Concat(rejections(workers, now), pollCounts(workers), d.leases(workers),
		d.heartbeats(workers))
	if len(findings) == 0 {
		text := "leases, heartbeats and polls of the workers fit the server"
		if d.heartbeat > 0 {
			text += fmt.Sprintf(" (slowest of %d heartbeats: %s)", samples,
				cli.ShortDuration(d.heartbeat))
		}
		return []finding{{markGood, text, ""}}
	}
	return findings
}

// concurrentLimit is the cause of rejected polls.
var concurrentLimit = enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT.String()

// limitKeys maps the causes of rejections to the limits in the dynamic configuration of the server,
// and to their defaults.
var limitKeys = map[string]struct {
	what, key string
	usual     int
}{
	concurrentLimit: {"concurrent polls of the namespace", "frontend.namespaceCount", usualPolls},
	"RpsLimit":      {"requests per second of the namespace", "frontend.namespaceRPS", usualRate},
	"PersistenceLimit": {"requests per second to the database", "frontend.persistenceMaxQPS",
		2000},
}

// rejections reports requests that the server rejected lately because of its limits.
func rejections(workers []api.WorkerCatalog, now time.Time) (findings []finding) {
	counts, polls := map[string]int{}, 0
	for _, w := range workers {
		polls += w.Settings.PeakPolls
		for _, r := range w.Settings.Rejected {
			if now.Sub(r.Last) <= rejectedRecently {
				counts[r.Cause] += r.Count
			}
		}
	}
	for _, cause := range slices.Sorted(maps.Keys(counts)) {
		findings = append(findings, limitFinding(fmt.Sprintf("the server rejected %s of the workers",
			display.Plural(counts[cause], "request")), cause, polls))
	}
	return findings
}

// limitFinding reports that the server rejected what requests names because of a limit. polls is
// the number of polls that the workers open; zero if it is unknown.
func limitFinding(requests, cause string, polls int) finding {
	f := finding{markBad, fmt.Sprintf("%s because of its limit %s", requests, cause),
		"check the server's limits with its operator"}
	if limit, known := limitKeys[cause]; known {
		f.Text += ": " + limit.what
		value := 2 * limit.usual
		if cause == concurrentLimit && polls > 0 {
			value = max(value, 2*polls)
			f.Text += fmt.Sprintf(" (the workers open up to %d)", polls)
		}
		f.Remedy = dynamicConfig("", fmt.Sprintf("%s: %d", limit.key, value))
	}
	return f
}

// pollCounts reports more polls than a server allows by default.
func pollCounts(workers []api.WorkerCatalog) []finding {
	open, peak := 0, 0
	for _, w := range workers {
		open, peak = open+w.Settings.Polls, peak+w.Settings.PeakPolls
		if slices.ContainsFunc(w.Settings.Rejected, func(r api.RejectedRequests) bool {
			return r.Cause == concurrentLimit
		}) {
			return nil // rejections reports it
		}
	}
	if peak <= usualPolls {
		return nil
	}
	return []finding{{markWarn, fmt.Sprintf("the workers have %d open polls and had up to %d: a "+
		"server allows %d for each frontend and namespace by default. None was rejected so far",
		open, peak, usualPolls),
		dynamicConfig("", fmt.Sprintf("frontend.namespaceCount: %d", 2*peak))}}
}

// leases reports leases that the server's answers are too slow for, and those that need too many
// requests.
func (d *doctor) leases(workers []api.WorkerCatalog) (findings []finding) {
	lanes := map[string]api.LaneLease{}
	for _, w := range workers {
		for _, l := range w.Settings.Leases {
			if known, ok := lanes[l.Lane]; !ok || l.Lease < known.Lease {
				lanes[l.Lane] = l
			}
		}
	}
	perSecond := 0.0
	for _, name := range slices.Sorted(maps.Keys(lanes)) {
		l := lanes[name]
		perSecond += float64(l.Groups) / lanerules.LeaseInterval(l.Lease.Std()).Seconds()
		if slack := lanerules.LeaseSlack(l.Lease.Std()); 2*d.heartbeat > slack {
			mark := markWarn
			if d.heartbeat > slack {
				mark = markBad
			}
			findings = append(findings, finding{mark, fmt.Sprintf("the lease of the lane %s is "+
				"%s, so that a heartbeat has to be answered within %s, but the slowest of %d took "+
				"%s", name, l.Lease, cli.ShortDuration(slack), samples,
				cli.ShortDuration(d.heartbeat)),
				"set in the lanes file:" + cli.Below(fmt.Sprintf("lanes:\n  %s:\n    lease: %s", name,
					fittingLease(d.heartbeat)))})
		}
	}
	if perSecond > usualRate/2 {
		findings = append(findings, finding{markWarn, fmt.Sprintf("the leases of %s need %.0f "+
			"requests per second while calls run: a server allows %d for each frontend and "+
			"namespace by default", display.Plural(len(lanes), "lane"), perSecond, usualRate),
			"set a longer lease or fewer holders in the lanes file, or " + dynamicConfig("",
				fmt.Sprintf("frontend.namespaceRPS: %d", int(2*perSecond)+usualRate))})
	}
	return findings
}

// fittingLease returns a lease with which the server may take twice as long as the measured
// heartbeat, at least the default.
func fittingLease(heartbeat time.Duration) api.Duration {
	lease := api.DefaultLease
	for lanerules.LeaseSlack(lease.Std()) < 2*heartbeat {
		lease += api.Duration(5 * time.Second)
	}
	return lease
}

// heartbeats reports heartbeat timeouts of tools that are too short.
func (d *doctor) heartbeats(workers []api.WorkerCatalog) (findings []finding) {
	short, shortest := map[string]api.Duration{}, map[string]api.Duration{}
	for _, w := range workers {
		for _, h := range w.Settings.ShortHeartbeats {
			short[h.Tool] = h.Heartbeat
		}
		if h := w.Settings.Shortest; h != nil {
			shortest[h.Tool] = h.Heartbeat
		}
	}
	if len(short) > 0 {
		findings = append(findings, finding{markWarn, "tools with effect once have a heartbeat " +
			"below " + api.OnceHeartbeat.String() + ": " + named(short) + "; a restart of the " +
			"server ends their calls as outcome_unknown",
			"set in their toolspecs:" + cli.Below("execution:\n  heartbeat: 1m")})
	}
	maps.DeleteFunc(shortest, func(_ string, h api.Duration) bool {
		return 3*d.heartbeat <= h.Std()
	})
	if len(shortest) > 0 {
		findings = append(findings, finding{markBad, fmt.Sprintf("heartbeats take up to %s, which "+
			"is too long for the heartbeat of %s: calls count as lost although their worker runs",
			cli.ShortDuration(d.heartbeat), named(shortest)),
			"set in their toolspecs, or run the workers near the server:" + cli.Below(fmt.Sprintf(
				"execution:\n  heartbeat: %s", max(api.Duration((6*d.heartbeat).
					Round(time.Second)), api.Duration(3*time.Second))))})
	}
	return findings
}

// named lists tools with their heartbeat timeouts.
func named(tools map[string]api.Duration) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		texts = append(texts, fmt.Sprintf("%s (%s)", name, tools[name]))
	}
	return strings.Join(texts, ", ")
}
