package interactions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
)

// feature is what scenarios compose.
type feature string

const (
	featureBatch      feature = "batch"
	featureFork       feature = "fork"
	featureApproval   feature = "approval"
	featureEdit       feature = "edit"
	featureDenial     feature = "denial"
	featureCancelRun  feature = "cancelled run"
	featureCancelCall feature = "cancelled call"
	featureFailure    feature = "failed run"
	featureUndo       feature = "undo"
	featureVerify     feature = "verify"
	featureAbsent     feature = "on_absent: repeat"
	featureLimit      feature = "lane with a limit"
	featureBound      feature = "bounded lane"
	featureKeyed      feature = "keyed lane"
	featurePlan       feature = "plan"
	featureSession    feature = "session"
	featureRepetition feature = "repetition"
	featureKey        feature = "idempotency key"
	featureLeave      feature = "leave"
	featureSubAgent   feature = "sub-agent"
	featureInstance   feature = "instance"
	featureInline     feature = "inline call"
	featureBudget     feature = "budget of a principal"
	featureRule       feature = "rule about a principal"
	featureOutage     feature = "outage"
	featureKill       feature = "killed worker"
	featureRestart    feature = "restarted worker"
)

// features are all, in the order of the tables.
var features = []feature{featureBatch, featureFork, featureApproval, featureEdit, featureDenial,
	featureCancelRun, featureCancelCall, featureFailure, featureUndo, featureVerify, featureAbsent,
	featureLimit, featureBound, featureKeyed, featurePlan, featureSession, featureRepetition,
	featureKey, featureLeave, featureSubAgent, featureInstance, featureInline, featureBudget,
	featureRule, featureOutage, featureKill, featureRestart}

// featureOf returns the feature of a fault.
func featureOf(fault string) feature {
	switch faultKind(fault) {
	case faultSuspend, faultRestart:
		return featureOutage
	case faultStop:
		return featureRestart
	}
	return featureKill
}

// note adds the features that occurred in a run.
func (r *ranRun) note(all map[feature]bool) {
	all[featurePlan] = all[featurePlan] || r.actor.kind == planActor
	all[featureSession] = all[featureSession] || r.actor.kind == sessionActor
	all[featureFailure] = all[featureFailure] || r.status == history.RunFailed
	for _, record := range r.records {
		for f, occurred := range recordFeatures(record) {
			all[f] = all[f] || occurred
		}
	}
}

func recordFeatures(r api.Record) map[feature]bool {
	t := toolNamed(r.Tool)
	return map[feature]bool{featureBatch: r.Batched, featureUndo: r.Purpose == api.PurposeUndo,
		featureVerify:   r.Purpose == api.PurposeVerify,
		featureAbsent:   r.Purpose == "" && t.absent == "repeat" && r.Attempts > 1,
		featureLimit:    t.lane == "one" || t.lane == "pair",
		featureBound:    slices.Contains([]string{"pair", "desk", "line", "short"}, t.lane),
		featureKeyed:    slices.Contains([]string{"desk", "line", "short", "phone"}, t.lane),
		featureSubAgent: r.Child != nil, featureInstance: t.instance,
		featureInline: t.lane == api.LaneInline, featureRule: t.spends}
}

// summary adds up evaluations.
type summary struct {
	scenarios, failed int
	// pairs counts the scenarios in which two features occurred, by their place in features; a
	// feature with itself is how often it occurred.
	pairs          map[[2]int]int
	outcomes, runs map[string]int
}

func newSummary() *summary {
	return &summary{pairs: map[[2]int]int{}, outcomes: map[string]int{}, runs: map[string]int{}}
}

func (s *summary) add(v evaluation) {
	s.scenarios++
	if len(v.faults) > 0 {
		s.failed++
	}
	for i, f := range features {
		for j, g := range features[:i+1] {
			if v.features[f] && v.features[g] {
				s.pairs[[2]int{i, j}]++
			}
		}
	}
	for name, n := range v.outcomes {
		s.outcomes[name] += n
	}
	for name, n := range v.runs {
		s.runs[name] += n
	}
}

// table returns how often each pair of features occurred.
func (s *summary) table() string {
	var b strings.Builder
	b.WriteString("| | feature |")
	for i := range features {
		fmt.Fprintf(&b, " %d |", i+1)
	}
	b.WriteString("\n| --- | --- |" + strings.Repeat(" --- |", len(features)) + "\n")
	for i, f := range features {
		fmt.Fprintf(&b, "| %d | %s |", i+1, f)
		for j := range features {
			if j > i {
				b.WriteString(" |")
				continue
			}
			fmt.Fprintf(&b, " %d |", s.pairs[[2]int{i, j}])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// counts lists numbers by name, the largest first.
func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return of[b] - of[a] })
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d %s", of[name], name))
	}
	return strings.Join(parts, ", ")
}

// missing returns the pairs of features that did not occur.
func (s *summary) missing() (pairs []string) {
	for i, f := range features {
		for j, g := range features[:i] {
			if s.pairs[[2]int{i, j}] == 0 {
				pairs = append(pairs, string(g)+" × "+string(f))
			}
		}
	}
	return pairs
}
