package stats

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
)

// madeUp returns calls with every kind of end, the same for the same seed.
func madeUp(seed uint64, n int) []api.Record {
	random := rand.New(rand.NewPCG(seed, 1))
	statuses := []api.CallStatus{
		api.CallCompleted,
		api.CallCompleted,
		api.CallCompleted,
		api.CallFailed,
		api.CallRefused,
		api.CallCancelled,
		api.CallRunning,
	}
	types := []api.ErrorType{
		api.ErrTimeout,
		api.ErrPolicyViolation,
		api.ErrBudgetExceeded,
		api.ErrValidation,
	}
	began := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	list := make([]api.Record, n)
	for i := range list {
		r := api.Record{
			Tool:            string(rune('a' + random.IntN(5))),
			Status:          statuses[random.IntN(len(statuses))],
			EstimatedTokens: 1 + random.IntN(100),
		}
		r.Lane = api.LaneGeneral
		if r.Tool == "a" {
			r.Lane = api.LaneSerial
		}
		if r.Status != api.CallRefused {
			r.Scheduled, r.QueueWait, r.Duration = began, api.Duration(
				random.Int64N(1e9)), api.Duration(
				random.Int64N(8e9),
			)
			r.Started, r.Attempts = began.Add(r.QueueWait.Std()), 1+random.IntN(3)
		}
		switch r.Status {
		case api.CallCompleted:
			r.ResultTokens = random.IntN(200)
			r.ActualTokens = r.EstimatedTokens + r.ResultTokens
			if random.IntN(3) > 0 {
				r.ExpectedTokens = 1 + random.IntN(200)
				r.EstimatedTokens += r.ExpectedTokens
			}
		case api.CallFailed, api.CallRefused:
			r.Error = &api.Error{Type: types[random.IntN(len(types))]}
		}
		if r.Status == api.CallCompleted {
			if r.Batched = i%7 == 0; i%5 == 0 {
				r.DryRun, r.ActualTokens = true, 0
			}
		}
		list[i] = r
	}
	return list
}

// The analysis of calls has the same numbers as counting them one question at a time.
func TestAnalysis_EqualsCounting(t *testing.T) {
	records := madeUp(1, 5000)
	a := NewAnalysis(Thresholds{Slow: api.Duration(6 * time.Second)})
	for _, r := range records {
		a.AddCall(r)
	}
	report := a.Report()
	tools := map[string]int{}
	for _, r := range records {
		tools[r.Tool]++
	}
	if len(report.Tools) != len(tools) || len(report.Lanes) != 2 {
		t.Fatalf("%d tools, %d lanes", len(report.Tools), len(report.Lanes))
	}
	for _, g := range report.Tools {
		checkStats(t, g.CallStats, records, func(r api.Record) bool { return r.Tool == g.Name })
	}
	for _, g := range report.Lanes {
		checkStats(t, g.CallStats, records, func(r api.Record) bool { return r.Lane == g.Name })
	}
	checkStats(t, report.Calls, records, func(api.Record) bool { return true })
	violations, failures := 0, 0
	for _, r := range records {
		if r.Error != nil {
			failures++
			if r.Error.Type == api.ErrPolicyViolation || r.Error.Type == api.ErrBudgetExceeded {
				violations++
			}
		}
	}
	total := 0
	for _, n := range report.Errors {
		total += n
	}
	if report.Violations != violations || total != failures {
		t.Errorf("%d violations of %d failures, want %d of %d", report.Violations, total,
			violations, failures)
	}
	if !slices.IsSortedFunc(report.Tools,
		func(x, y GroupStats) int { return int(y.total - x.total) }) {
		t.Error("the tools are not in order of the time they took")
	}
}

// checkStats counts one question at a time.
func checkStats(t *testing.T, got CallStats, records []api.Record, of func(api.Record) bool) {
	t.Helper()
	count := func(which func(api.Record) bool) (n int) {
		for _, r := range records {
			if of(r) && which(r) {
				n++
			}
		}
		return n
	}
	in := func(s api.CallStatus) int {
		return count(func(r api.Record) bool { return r.Status == s && !r.DryRun })
	}
	var took, waited, longest time.Duration
	arguments, results, retries, most := 0, 0, 0, 0
	executed := func(r api.Record) bool {
		return !r.DryRun && r.Status != api.CallRefused && r.Status != api.CallRunning
	}
	for _, r := range records {
		if !of(r) || r.DryRun {
			continue
		}
		arguments, results, retries = arguments+r.ArgumentTokens(), results+r.ResultTokens, retries+
			max(r.Attempts-1, 0)
		most = max(most, r.Attempts-1)
		if executed(r) {
			took, waited, longest = took+r.Duration.Std(), waited+r.QueueWait.Std(), max(longest,
				r.Duration.Std())
		}
	}
	n := time.Duration(count(executed))
	want := CallStats{
		Calls: count(
			func(api.Record) bool { return true },
		), Completed: in(api.CallCompleted), Failed: in(api.CallFailed),
		Refused: in(
			api.CallRefused), Cancelled: in(api.CallCancelled), Running: in(api.CallRunning),
		Withheld: count(
			func(r api.Record) bool { return r.DryRun },
		), Batched: count(func(r api.Record) bool { return r.Batched && !r.DryRun }),
		Average: api.Duration(took / n), AverageWait: api.Duration(waited / n),
		Longest: api.Duration(longest), LongestWait: got.LongestWait,
		Slow: count(
			func(r api.Record) bool { return executed(r) && r.Duration.Std() > 6*time.Second }),
		ArgumentTokens: arguments, ResultTokens: results, Retries: retries,
		MaxRetries: most, executed: int(n),
		total: took, wait: waited,
	}
	evaluated := func(r api.Record) bool { return r.ActualTokens > 0 && r.ExpectedTokens > 0 }
	ratio := func(r api.Record) float64 {
		x, y := float64(r.EstimatedTokens), float64(r.ActualTokens)
		return min(x/y, y/x)
	}
	want.Estimated, want.Unestimated = count(evaluated), count(
		func(r api.Record) bool { return r.ActualTokens > 0 && r.ExpectedTokens == 0 })
	want.Wasteful = count(func(r api.Record) bool {
		return evaluated(r) && float64(r.ActualTokens)/float64(r.EstimatedTokens) > 1.2
	})
	want.Inaccurate = count(func(r api.Record) bool { return evaluated(r) && ratio(r) < 0.8 })
	sum := 0.0
	for _, r := range records {
		if !of(r) || !evaluated(r) {
			continue
		}
		want.EstimatedTokens, want.ActualTokens, sum = want.EstimatedTokens+r.EstimatedTokens,
			want.ActualTokens+r.ActualTokens, sum+ratio(r)
		if beyond := r.ActualTokens - r.EstimatedTokens; float64(beyond) > 0.2*float64(
			r.EstimatedTokens) {
			want.WastedTokens += beyond
		}
	}
	if mean := sum / float64(want.Estimated); mean-got.Accuracy > 1e-6 || got.Accuracy-mean > 1e-6 {
		t.Errorf("accuracy %v, want %v", got.Accuracy, mean)
	}
	want.Accuracy, want.accuracy = got.Accuracy, got.accuracy
	want.SuccessRate = float64(want.Completed) / float64(want.Calls-want.Running-want.Withheld)
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// The sum of analyses of parts equals the analysis of the whole, so histories can be read in
// parallel.
func TestAnalyses_AddUp(t *testing.T) {
	whole, sum := NewAnalysis(Thresholds{}), NewAnalysis(Thresholds{})
	for i := range uint64(7) {
		part := NewAnalysis(Thresholds{})
		s := history.Summary{
			Status: history.RunCompleted,
			Closed: time.Unix(1, 0),
			Usage:  api.Usage{Turns: 3, InputTokens: int(i) * 1000, OutputTokens: 7},
			Result: &api.RunResult{Outcome: api.OutcomeAnswered},
		}
		for _, a := range []*Analysis{whole, part} {
			a.AddRun(s, nil)
			for _, r := range madeUp(i, 100) {
				a.AddCall(r)
			}
		}
		sum.Add(part)
	}
	if got, want := sum.Report(), whole.Report(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if r := sum.Report(); len(r.Direct) != 5 || r.Direct[0].Calls == 0 {
		t.Errorf("direct calls: %+v", r.Direct)
	}
	if r := sum.Report(); r.TokensPerSuccessfulRun != float64(21000+49)/7 || r.Usage.Turns != 21 {
		t.Errorf("TPST %v, %d turns", r.TokensPerSuccessfulRun, r.Usage.Turns)
	}
}

func TestAddRun_CountsSourcesOfEvaluations(t *testing.T) {
	over, yes := time.Unix(1, 0), &api.RunEvaluation{Solved: true, By: "ada"}
	checked := &api.RunResult{Outcome: api.OutcomeAnswered, Checked: &api.Checked{Tool: "grade"}}
	for _, test := range []struct {
		name   string
		s      history.Summary
		person *api.RunEvaluation
		want   RunCounts
	}{
		{"a person", history.Summary{Status: history.RunFailed, Closed: over}, yes,
			RunCounts{All: 1, Successful: 1, Solved: 1, ByPeople: 1}},
		{"a checker", history.Summary{Status: history.RunCompleted, Closed: over, Result: checked},
			nil,
			RunCounts{All: 1, Failed: 1, ByCheckers: 1}},
		{"a good end", history.Summary{Status: history.RunCompleted, Closed: over,
			Result: &api.RunResult{Outcome: api.OutcomeAnswered}}, nil,
			RunCounts{All: 1, Successful: 1}},
		{"the end", history.Summary{Status: history.RunTerminated, Closed: over}, nil,
			RunCounts{All: 1, Failed: 1}},
		{"an open run", history.Summary{Status: history.RunRunning}, yes,
			RunCounts{All: 1, Open: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := NewAnalysis(Thresholds{})
			test.s.Kind, test.s.Name, test.s.Usage = history.RunAgent, "clerk", api.Usage{
				InputTokens: 70,
			}
			a.AddRun(test.s, test.person)
			r := a.Report()
			if r.Runs != test.want || len(r.Agents) != 1 || r.Agents[0].Runs != r.Runs {
				t.Errorf("got %+v of agents %+v, want %+v", r.Runs, r.Agents, test.want)
			}
			if r.Agents[0].TokensPerSuccessfulRun != r.TokensPerSuccessfulRun {
				t.Errorf("the agent has %v tokens per solved run, all have %v",
					r.Agents[0].TokensPerSuccessfulRun, r.TokensPerSuccessfulRun)
			}
		})
	}
}

// A run that a person evaluated counts, whatever it is.
func TestAddRun_DoesNotCountMistypedCalls(t *testing.T) {
	run := func(kind history.RunKind, failure api.ErrorType) history.Summary {
		s := history.Summary{Kind: kind, Name: "echo", Status: history.RunFailed,
			Closed: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC),
			Result: &api.RunResult{Failures: []api.CallOutcome{{ID: "1.1"}}}}
		if failure != "" {
			s.Result.Failures[0].Error = api.Errorf(failure, "no")
		}
		return s
	}
	for _, c := range []struct {
		name   string
		run    history.Summary
		person *api.RunEvaluation
		want   RunCounts
	}{
		{"an unknown tool", run(history.RunCall, api.ErrToolNotFound), nil,
			RunCounts{Mistyped: 1}},
		{"wrong arguments", run(history.RunCall, api.ErrValidation), nil,
			RunCounts{Mistyped: 1}},
		{"a failure", run(history.RunCall, api.ErrExecution), nil,
			RunCounts{All: 1, Failed: 1}},
		{"no error", run(history.RunCall, ""), nil, RunCounts{All: 1, Failed: 1}},
		{"a plan", run(history.RunPlan, api.ErrValidation), nil,
			RunCounts{All: 1, Failed: 1}},
		{"evaluated", run(history.RunCall, api.ErrValidation), &api.RunEvaluation{Solved: true},
			RunCounts{All: 1, Successful: 1, Solved: 1, ByPeople: 1}},
	} {
		one, all := NewAnalysis(Thresholds{}), NewAnalysis(Thresholds{})
		one.AddRun(c.run, c.person)
		all.Add(one)
		if got := all.Runs(); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}
