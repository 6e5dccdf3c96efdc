package audit

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
)

// madeUp returns calls of every fate, the same for the same seed.
func madeUp(seed uint64, n int) []switchyard.Record {
	random := rand.New(rand.NewPCG(seed, 1))
	statuses := []switchyard.CallStatus{switchyard.CallCompleted, switchyard.CallCompleted, switchyard.CallCompleted, switchyard.CallFailed,
		switchyard.CallRefused, switchyard.CallCancelled, switchyard.CallRunning}
	types := []switchyard.ErrorType{switchyard.ErrTimeout, switchyard.ErrPolicyViolation, switchyard.ErrBudgetExceeded, switchyard.ErrValidation}
	began := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	list := make([]switchyard.Record, n)
	for i := range list {
		r := switchyard.Record{Tool: string(rune('a' + random.IntN(5))), Status: statuses[random.IntN(len(statuses))], EstimatedTokens: random.IntN(100)}
		r.Lane = switchyard.LaneGeneral
		if r.Tool == "a" {
			r.Lane = switchyard.LaneSerial
		}
		if r.Status != switchyard.CallRefused {
			r.Scheduled, r.QueueWait, r.Duration = began, switchyard.Duration(random.Int64N(1e9)), switchyard.Duration(random.Int64N(8e9))
			r.Started, r.Attempts = began.Add(r.QueueWait.Std()), 1+random.IntN(3)
		}
		switch r.Status {
		case switchyard.CallCompleted:
			r.ResultTokens = random.IntN(1000)
		case switchyard.CallFailed, switchyard.CallRefused:
			r.Error = &switchyard.Error{Type: types[random.IntN(len(types))]}
		}
		if r.Status == switchyard.CallCompleted {
			r.DryRun, r.Batched = i%5 == 0, i%7 == 0
		}
		list[i] = r
	}
	return list
}

// What an analysis says of calls is what counting them in the plainest way says.
func TestAnalysisCounts(t *testing.T) {
	records := madeUp(1, 5000)
	a := NewAnalysis(Thresholds{Slow: 6 * time.Second})
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
		checkStats(t, g.CallStats, records, func(r switchyard.Record) bool { return r.Tool == g.Name })
	}
	for _, g := range report.Lanes {
		checkStats(t, g.CallStats, records, func(r switchyard.Record) bool { return r.Lane == g.Name })
	}
	checkStats(t, report.Calls, records, func(switchyard.Record) bool { return true })
	violations, failures := 0, 0
	for _, r := range records {
		if r.Error != nil {
			failures++
			if r.Error.Type == switchyard.ErrPolicyViolation || r.Error.Type == switchyard.ErrBudgetExceeded {
				violations++
			}
		}
	}
	total := 0
	for _, n := range report.Errors {
		total += n
	}
	if report.Violations != violations || total != failures {
		t.Errorf("%d violations of %d failures, want %d of %d", report.Violations, total, violations, failures)
	}
	if !slices.IsSortedFunc(report.Tools, func(x, y GroupStats) int { return int(y.total - x.total) }) {
		t.Error("the tools are not in order of the time they took")
	}
}

// checkStats counts again, one question after the other.
func checkStats(t *testing.T, got CallStats, records []switchyard.Record, of func(switchyard.Record) bool) {
	t.Helper()
	count := func(which func(switchyard.Record) bool) (n int) {
		for _, r := range records {
			if of(r) && which(r) {
				n++
			}
		}
		return n
	}
	in := func(s switchyard.CallStatus) int {
		return count(func(r switchyard.Record) bool { return r.Status == s && !r.DryRun })
	}
	var took, waited, longest time.Duration
	arguments, results, retries := 0, 0, 0
	executed := func(r switchyard.Record) bool {
		return !r.DryRun && r.Status != switchyard.CallRefused && r.Status != switchyard.CallRunning
	}
	for _, r := range records {
		if !of(r) || r.DryRun {
			continue
		}
		arguments, results, retries = arguments+r.EstimatedTokens, results+r.ResultTokens, retries+max(r.Attempts-1, 0)
		if executed(r) {
			took, waited, longest = took+r.Duration.Std(), waited+r.QueueWait.Std(), max(longest, r.Duration.Std())
		}
	}
	n := time.Duration(count(executed))
	want := CallStats{
		Calls: count(func(switchyard.Record) bool { return true }), Completed: in(switchyard.CallCompleted), Failed: in(switchyard.CallFailed),
		Refused: in(switchyard.CallRefused), Cancelled: in(switchyard.CallCancelled), Running: in(switchyard.CallRunning),
		Withheld: count(func(r switchyard.Record) bool { return r.DryRun }), Batched: count(func(r switchyard.Record) bool { return r.Batched && !r.DryRun }),
		Average: switchyard.Duration(took / n), AverageWait: switchyard.Duration(waited / n), Longest: switchyard.Duration(longest), LongestWait: got.LongestWait,
		Slow:           count(func(r switchyard.Record) bool { return executed(r) && r.Duration.Std() > 6*time.Second }),
		ArgumentTokens: arguments, ResultTokens: results, Retries: retries, executed: int(n), total: took, wait: waited,
	}
	want.SuccessRate = float64(want.Completed) / float64(want.Calls-want.Running-want.Withheld)
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// Analyses of parts, added up, say the same as one of the whole, so that histories can be read several at a time.
func TestAnalysesAddUp(t *testing.T) {
	whole, sum := NewAnalysis(Thresholds{}), NewAnalysis(Thresholds{})
	for i := range uint64(7) {
		part := NewAnalysis(Thresholds{})
		s := Summary{Status: RunCompleted, Closed: time.Unix(1, 0), Usage: switchyard.Usage{Turns: 3, InputTokens: int(i) * 1000, OutputTokens: 7},
			Result: &switchyard.RunResult{Outcome: switchyard.OutcomeAnswered}}
		for _, a := range []*Analysis{whole, part} {
			a.AddRun(s, SolvedBy(s))
			for _, r := range madeUp(i, 100) {
				a.AddCall(r)
			}
		}
		sum.Add(part)
	}
	if got, want := sum.Report(), whole.Report(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if r := sum.Report(); r.TPST != float64(21000+49)/7 || r.Usage.Turns != 21 {
		t.Errorf("TPST %v, %d turns", r.TPST, r.Usage.Turns)
	}
}

// Only a run that did what it was for is solved by its own end.
func TestSolvedBy(t *testing.T) {
	over := time.Unix(1, 0)
	for want, list := range map[Solved][]Summary{
		SolvedOpen: {{Status: RunRunning}, {Status: RunPaused}},
		SolvedYes: {{Status: RunCompleted, Closed: over, Result: &switchyard.RunResult{Outcome: switchyard.OutcomeAnswered}},
			{Status: RunCompleted, Closed: over, Result: &switchyard.RunResult{Outcome: switchyard.OutcomeCompleted}}},
		SolvedNo: {{Status: RunCompleted, Closed: over, Result: &switchyard.RunResult{Outcome: switchyard.OutcomeLimit}}, {Status: RunCompleted, Closed: over},
			{Status: RunFailed, Closed: over, Result: &switchyard.RunResult{}}, {Status: RunCancelled, Closed: over}, {Status: RunTerminated, Closed: over}},
	} {
		for _, s := range list {
			if got := SolvedBy(s); got != want {
				t.Errorf("%+v is %s, want %s", s, got, want)
			}
		}
	}
}
