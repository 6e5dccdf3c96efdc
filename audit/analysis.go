package audit

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/switchyard/switchyard"
	"go.temporal.io/sdk/client"
)

// Thresholds say from where on a call is slow and its tokens are wasted (requirement R5).
type Thresholds struct {
	// Slow is the duration of a slow call; default 5s.
	Slow time.Duration
	// Waste is how many times the estimated tokens a call may take; default 1.2.
	Waste float64
	// Accuracy is the least ratio of the estimated and the actual tokens, the smaller to the larger; default 0.8.
	Accuracy float64
}

func (t Thresholds) withDefaults() Thresholds {
	return Thresholds{Slow: cmp.Or(t.Slow, 5*time.Second), Waste: cmp.Or(t.Waste, 1.2), Accuracy: cmp.Or(t.Accuracy, 0.8)}
}

// Solved says whether a run did what it was for.
type Solved string

// The verdicts on a run.
const (
	SolvedYes Solved = "solved"
	SolvedNo  Solved = "failed"
	// SolvedOpen is a run that is not over.
	SolvedOpen Solved = "open"
)

// SolvedBy is the verdict that the run's own end gives: it is solved where an agent answered, or every call of a plan or a
// direct call ran.
func SolvedBy(s Summary) Solved {
	switch {
	case s.Closed.IsZero():
		return SolvedOpen
	case s.Status == RunCompleted && s.Result != nil &&
		(s.Result.Outcome == switchyard.OutcomeAnswered || s.Result.Outcome == switchyard.OutcomeCompleted):
		return SolvedYes
	}
	return SolvedNo
}

// Report is what an Analysis found.
type Report struct {
	Runs struct {
		All    int `json:"all"`
		Solved int `json:"solved"`
		Failed int `json:"failed"`
		Open   int `json:"open"`
	} `json:"runs"`
	// Usage is that of all runs, their sub-agents' among it.
	Usage switchyard.Usage `json:"usage"`
	// TPST is tokens per solved task: the input and output tokens of all runs over the runs that were solved. Zero where none
	// was.
	TPST float64 `json:"tpst,omitempty"`
	// Calls are all calls, those of sub-agents among them.
	Calls CallStats `json:"calls"`
	// Violations counts the calls that broke a rule: a policy, an execution plan, a budget, a hook.
	Violations int `json:"violations"`
	// Errors counts the calls that failed or were refused by the type of their error.
	Errors map[switchyard.ErrorType]int `json:"errors,omitempty"`
	// Tools and Lanes are in order of the time they took in all, the longest first.
	Tools []GroupStats `json:"tools,omitempty"`
	Lanes []GroupStats `json:"lanes,omitempty"`
}

// GroupStats are the calls of one tool or lane.
type GroupStats struct {
	Name string `json:"name"`
	CallStats
}

// CallStats tell of a set of calls.
type CallStats struct {
	Calls     int `json:"calls"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Refused   int `json:"refused"`
	Cancelled int `json:"cancelled"`
	Running   int `json:"running"`
	// Withheld counts calls of dry runs that would have been made. They are in Calls, and in no other count.
	Withheld int `json:"withheld"`
	// Batched counts those that were made together with others.
	Batched int `json:"batched"`
	// SuccessRate is the part of the calls that are over, and were not withheld, which completed.
	SuccessRate float64 `json:"success_rate"`
	// Average and Longest are of the calls that were executed, AverageWait and LongestWait of what they waited for a worker.
	Average     switchyard.Duration `json:"average,omitzero"`
	Longest     switchyard.Duration `json:"longest,omitzero"`
	AverageWait switchyard.Duration `json:"average_wait,omitzero"`
	LongestWait switchyard.Duration `json:"longest_wait,omitzero"`
	// Slow counts the calls that took longer than the threshold.
	Slow int `json:"slow"`
	// Retries counts the attempts beyond the first.
	Retries int `json:"retries"`
	// ArgumentTokens and ResultTokens are what the calls took of models' windows.
	ArgumentTokens int `json:"argument_tokens"`
	ResultTokens   int `json:"result_tokens"`

	executed    int
	total, wait time.Duration
}

// Analysis adds up runs and their calls, in memory that grows with the number of tools and lanes alone.
type Analysis struct {
	thresholds   Thresholds
	report       Report
	tools, lanes map[string]*CallStats
}

// NewAnalysis returns an empty analysis. Zero thresholds are the defaults.
func NewAnalysis(t Thresholds) *Analysis {
	return &Analysis{thresholds: t.withDefaults(), report: Report{Errors: map[switchyard.ErrorType]int{}}, tools: map[string]*CallStats{}, lanes: map[string]*CallStats{}}
}

// AddRun counts a run, with the verdict on it. Runs of sub-agents are not to be added: what they used is part of their
// callers' usage.
func (a *Analysis) AddRun(s Summary, verdict Solved) {
	runs := &a.report.Runs
	runs.All++
	switch verdict {
	case SolvedYes:
		runs.Solved++
	case SolvedOpen:
		runs.Open++
	default:
		runs.Failed++
	}
	a.report.Usage.Add(s.Usage)
	a.report.Usage.Turns += s.Usage.Turns
}

// AddCall counts a call.
func (a *Analysis) AddCall(r switchyard.Record) {
	for _, s := range []*CallStats{&a.report.Calls, grouped(a.tools, r.Tool), grouped(a.lanes, r.Lane)} {
		s.add(r, a.thresholds)
	}
	if r.Error == nil {
		return
	}
	a.report.Errors[r.Error.Type]++
	switch r.Error.Type {
	case switchyard.ErrPolicyViolation, switchyard.ErrInvalidExecutionPlan, switchyard.ErrBudgetExceeded, switchyard.ErrBlockedByHook:
		a.report.Violations++
	}
}

// Called reports whether there is a call of a tool among those that were added.
func (a *Analysis) Called(tool string) bool { return a.tools[tool] != nil }

func grouped(groups map[string]*CallStats, name string) *CallStats {
	s := groups[name]
	if s == nil {
		s = &CallStats{}
		groups[name] = s
	}
	return s
}

func (s *CallStats) add(r switchyard.Record, t Thresholds) {
	s.Calls++
	if r.DryRun {
		s.Withheld++
		return
	}
	if r.Batched {
		s.Batched++
	}
	s.count(r.Status)
	s.ArgumentTokens += r.EstimatedTokens
	s.ResultTokens += r.ResultTokens
	s.Retries += max(r.Attempts-1, 0)
	if r.Started.IsZero() || r.Status == switchyard.CallRunning {
		return
	}
	s.executed++
	s.total += r.Duration.Std()
	s.wait += r.QueueWait.Std()
	s.Longest, s.LongestWait = max(s.Longest, r.Duration), max(s.LongestWait, r.QueueWait)
	if r.Duration.Std() > t.Slow {
		s.Slow++
	}
}

func (s *CallStats) count(status switchyard.CallStatus) {
	switch status {
	case switchyard.CallCompleted:
		s.Completed++
	case switchyard.CallFailed:
		s.Failed++
	case switchyard.CallRefused:
		s.Refused++
	case switchyard.CallCancelled:
		s.Cancelled++
	default:
		s.Running++
	}
}

// done returns the stats with what is worked out of the sums.
func (s CallStats) done() CallStats {
	if over := s.Calls - s.Running - s.Withheld; over > 0 {
		s.SuccessRate = float64(s.Completed) / float64(over)
	}
	if n := time.Duration(s.executed); n > 0 {
		s.Average, s.AverageWait = switchyard.Duration(s.total/n), switchyard.Duration(s.wait/n)
	}
	return s
}

// Report returns what has been found so far.
func (a *Analysis) Report() Report {
	r := a.report
	if r.Runs.Solved > 0 {
		r.TPST = float64(r.Usage.InputTokens+r.Usage.OutputTokens) / float64(r.Runs.Solved)
	}
	r.Errors = maps.Clone(r.Errors)
	r.Calls, r.Tools, r.Lanes = r.Calls.done(), groups(a.tools), groups(a.lanes)
	return r
}

func groups(by map[string]*CallStats) []GroupStats {
	var list []GroupStats
	for name, s := range by {
		list = append(list, GroupStats{Name: name, CallStats: s.done()})
	}
	slices.SortFunc(list, func(x, y GroupStats) int { return cmp.Or(cmp.Compare(y.total, x.total), cmp.Compare(x.Name, y.Name)) })
	return list
}

// AddTree reads a run and the sub-agents below it, each history once, adds all calls, and returns the run's summary. The run
// itself is left to AddRun. Parameters and errors are those of Events; a sub-agent's history that the server keeps no longer
// is left out.
func (a *Analysis) AddTree(ctx context.Context, c client.Client, workflowID, runID string) (Summary, error) {
	ch := &chain{client: c, workflowID: workflowID, runID: runID}
	for event, err := range ch.events(ctx) {
		if err != nil {
			return Summary{}, err
		}
		r := event.Record
		if r == nil {
			continue
		}
		a.AddCall(*r)
		if r.Child == nil || r.Child.RunID == "" {
			continue
		}
		if _, err := a.AddTree(ctx, c, r.Child.WorkflowID, r.Child.RunID); err != nil && !errors.Is(err, ErrNotFound) {
			return Summary{}, err
		}
	}
	for _, r := range ch.deriver.Running() {
		a.AddCall(r)
	}
	return ch.deriver.Summary(), nil
}

// Add adds what another analysis with the same thresholds has found.
func (a *Analysis) Add(other *Analysis) {
	r, o := &a.report, &other.report
	r.Runs.All += o.Runs.All
	r.Runs.Solved += o.Runs.Solved
	r.Runs.Failed += o.Runs.Failed
	r.Runs.Open += o.Runs.Open
	r.Usage.Add(o.Usage)
	r.Usage.Turns += o.Usage.Turns
	r.Violations += o.Violations
	for t, n := range o.Errors {
		r.Errors[t] += n
	}
	r.Calls.merge(o.Calls)
	for name, s := range other.tools {
		grouped(a.tools, name).merge(*s)
	}
	for name, s := range other.lanes {
		grouped(a.lanes, name).merge(*s)
	}
}

func (s *CallStats) merge(o CallStats) {
	s.Calls += o.Calls
	s.Completed += o.Completed
	s.Failed += o.Failed
	s.Refused += o.Refused
	s.Cancelled += o.Cancelled
	s.Running += o.Running
	s.Withheld += o.Withheld
	s.Batched += o.Batched
	s.Slow += o.Slow
	s.Retries += o.Retries
	s.ArgumentTokens += o.ArgumentTokens
	s.ResultTokens += o.ResultTokens
	s.Longest, s.LongestWait = max(s.Longest, o.Longest), max(s.LongestWait, o.LongestWait)
	s.executed += o.executed
	s.total += o.total
	s.wait += o.wait
}
