package stats

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
)

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
	Average     api.Duration `json:"average,omitzero"`
	Longest     api.Duration `json:"longest,omitzero"`
	AverageWait api.Duration `json:"average_wait,omitzero"`
	LongestWait api.Duration `json:"longest_wait,omitzero"`
	// Slow counts the calls that took longer than the threshold.
	Slow int `json:"slow"`
	// Retries counts the attempts beyond the first.
	Retries int `json:"retries"`
	// ArgumentTokens and ResultTokens are what the calls took of models' windows.
	ArgumentTokens int `json:"argument_tokens"`
	ResultTokens   int `json:"result_tokens"`
	// Estimated counts the calls whose tokens can be judged: their tools answered, and their toolspecs say how many tokens a
	// result takes as a rule. Unestimated are the answered calls of tools that do not say so.
	Estimated   int `json:"estimated"`
	Unestimated int `json:"unestimated"`
	// EstimatedTokens and ActualTokens are those of the Estimated calls, arguments and results, Accuracy is the average over
	// them of the ratio of the two, the smaller to the larger.
	EstimatedTokens int     `json:"estimated_tokens"`
	ActualTokens    int     `json:"actual_tokens"`
	Accuracy        float64 `json:"accuracy,omitempty"`
	// Wasteful counts those that took more tokens than the threshold lets them, WastedTokens is what those took beyond their
	// estimates. Inaccurate counts those whose accuracy is below its threshold; a call may be both.
	Wasteful     int `json:"wasteful"`
	WastedTokens int `json:"wasted_tokens"`
	Inaccurate   int `json:"inaccurate"`

	// accuracy is the sum over the calls, in millionths.
	accuracy    int64
	executed    int
	total, wait time.Duration
}

func grouped(groups map[string]*CallStats, name string) *CallStats {
	s := groups[name]
	if s == nil {
		s = &CallStats{}
		groups[name] = s
	}
	return s
}

func (s *CallStats) add(r api.Record, t Thresholds) {
	s.Calls++
	if r.DryRun {
		s.Withheld++
		return
	}
	if r.Batched {
		s.Batched++
	}
	s.count(r.Status)
	s.ArgumentTokens += r.ArgumentTokens()
	s.ResultTokens += r.ResultTokens
	s.Retries += max(r.Attempts-1, 0)
	s.evaluate(r, t)
	if r.Started.IsZero() || r.Status == api.CallRunning {
		return
	}
	s.executed++
	s.total += r.Duration.Std()
	s.wait += r.QueueWait.Std()
	s.Longest, s.LongestWait = max(s.Longest, r.Duration), max(s.LongestWait, r.QueueWait)
	if r.Duration > t.Slow {
		s.Slow++
	}
}

// judge compares the tokens that a call took with those that it was to take.
func (s *CallStats) evaluate(r api.Record, t Thresholds) {
	switch {
	case r.ActualTokens == 0:
		return
	case r.ExpectedTokens == 0:
		s.Unestimated++
		return
	}
	estimated, actual := r.EstimatedTokens, r.ActualTokens
	accuracy := float64(min(estimated, actual)) / float64(max(estimated, actual))
	s.Estimated++
	s.EstimatedTokens += estimated
	s.ActualTokens += actual
	s.accuracy += int64(math.Round(accuracy * 1e6))
	if accuracy < t.Accuracy {
		s.Inaccurate++
	}
	if float64(actual) > t.Waste*float64(estimated) {
		s.Wasteful++
		s.WastedTokens += actual - estimated
	}
}

func (s *CallStats) count(status api.CallStatus) {
	switch status {
	case api.CallCompleted:
		s.Completed++
	case api.CallFailed:
		s.Failed++
	case api.CallRefused:
		s.Refused++
	case api.CallCancelled:
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
		s.Average, s.AverageWait = api.Duration(s.total/n), api.Duration(s.wait/n)
	}
	if s.Estimated > 0 {
		s.Accuracy = float64(s.accuracy) / 1e6 / float64(s.Estimated)
	}
	return s
}

func groups(by map[string]*CallStats) []GroupStats {
	var list []GroupStats
	for name, s := range by {
		list = append(list, GroupStats{Name: name, CallStats: s.done()})
	}
	slices.SortFunc(list, func(x, y GroupStats) int { return cmp.Or(cmp.Compare(y.total, x.total), cmp.Compare(x.Name, y.Name)) })
	return list
}

// worst returns the names of the tools of which that many calls stand out, the most first.
func worst(tools []GroupStats, which func(CallStats) int) (names []string) {
	tools = slices.DeleteFunc(slices.Clone(tools), func(g GroupStats) bool { return which(g.CallStats) == 0 })
	slices.SortStableFunc(tools, func(x, y GroupStats) int { return which(y.CallStats) - which(x.CallStats) })
	for _, g := range tools {
		names = append(names, g.Name)
	}
	return names
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
	s.Estimated += o.Estimated
	s.Unestimated += o.Unestimated
	s.EstimatedTokens += o.EstimatedTokens
	s.ActualTokens += o.ActualTokens
	s.Wasteful += o.Wasteful
	s.WastedTokens += o.WastedTokens
	s.Inaccurate += o.Inaccurate
	s.accuracy += o.accuracy
	s.Longest, s.LongestWait = max(s.Longest, o.Longest), max(s.LongestWait, o.LongestWait)
	s.executed += o.executed
	s.total += o.total
	s.wait += o.wait
}

// ErrorTypes are the types of errors that were counted, the most frequent first.
func ErrorTypes(counts map[api.ErrorType]int) []api.ErrorType {
	return slices.SortedFunc(maps.Keys(counts), func(x, y api.ErrorType) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y))
	})
}
