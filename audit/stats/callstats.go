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

// CallStats are the statistics of a set of calls.
type CallStats struct {
	// Calls counts all calls, the following fields those of a status.
	Calls     int `json:"calls"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Refused   int `json:"refused"`
	Cancelled int `json:"cancelled"`
	Running   int `json:"running"`
	// Withheld counts the calls that dry runs withheld. Calls counts them too; no other field does.
	Withheld int `json:"withheld"`
	// Batched counts the calls that were batched with others.
	Batched int `json:"batched"`
	// SuccessRate is the share of completed calls among those that are over and were not withheld.
	SuccessRate float64 `json:"success_rate"`
	// Average and Longest are durations of executed calls; AverageWait and LongestWait are their
	// queue waits.
	Average     api.Duration `json:"average,omitzero"`
	Longest     api.Duration `json:"longest,omitzero"`
	AverageWait api.Duration `json:"average_wait,omitzero"`
	LongestWait api.Duration `json:"longest_wait,omitzero"`
	// Slow counts the calls above the threshold.
	Slow int `json:"slow"`
	// Retries counts the attempts after the first.
	Retries int `json:"retries"`
	// MaxRetries is the most retries of one call.
	MaxRetries int `json:"max_retries"`
	// ArgumentTokens and ResultTokens are the tokens of the calls in the conversations of models.
	ArgumentTokens int `json:"argument_tokens"`
	ResultTokens   int `json:"result_tokens"`
	// Estimated counts the answered calls of tools whose toolspecs estimate the tokens of a result;
	// Unestimated counts the answered calls of other tools.
	Estimated   int `json:"estimated"`
	Unestimated int `json:"unestimated"`
	// EstimatedTokens and ActualTokens are the tokens of arguments and results of the Estimated
	// calls. Accuracy is the average ratio of the two, the smaller to the larger.
	EstimatedTokens int     `json:"estimated_tokens"`
	ActualTokens    int     `json:"actual_tokens"`
	Accuracy        float64 `json:"accuracy,omitempty"`
	// Wasteful counts the calls above the threshold, and WastedTokens their tokens beyond the
	// estimates. Inaccurate counts the calls below the threshold of accuracy. A call may be both.
	Wasteful     int `json:"wasteful"`
	WastedTokens int `json:"wasted_tokens"`
	Inaccurate   int `json:"inaccurate"`

	// accuracy is the sum over the calls in millionths.
	accuracy    int64
	executed    int
	total, wait time.Duration
}

func ensureGroup(groups map[string]*CallStats, name string) *CallStats {
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
	s.MaxRetries = max(s.MaxRetries, r.Attempts-1)
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

// evaluate compares the actual tokens of a call with the estimated ones.
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

// done returns the statistics with averages and rates.
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
	slices.SortFunc(list, func(x, y GroupStats) int {
		return cmp.Or(cmp.Compare(y.total, x.total), cmp.Compare(x.Name, y.Name))
	})
	return list
}

// worst returns the names of the tools with calls that which counts, most such calls first.
func worst(tools []GroupStats, which func(CallStats) int) (names []string) {
	tools = slices.DeleteFunc(slices.Clone(tools),
		func(g GroupStats) bool { return which(g.CallStats) == 0 })
	slices.SortStableFunc(tools,
		func(x, y GroupStats) int { return which(y.CallStats) - which(x.CallStats) })
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
	s.MaxRetries = max(s.MaxRetries, o.MaxRetries)
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

// ErrorTypes returns the types of the counted errors, most frequent first.
func ErrorTypes(counts map[api.ErrorType]int) []api.ErrorType {
	return slices.SortedFunc(maps.Keys(counts), func(x, y api.ErrorType) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y))
	})
}
