package stats

import (
	"iter"
	"maps"
	"slices"

	"github.com/switchyard/switchyard/api"
)

// LaneUse is the use of one lane by calls. Times are of calls that started and ended.
type LaneUse struct {
	Lane string `json:"lane"`
	// Calls counts all calls, Failed the failed and cancelled ones, Refused those that never ran.
	Calls       int          `json:"calls"`
	Failed      int          `json:"failed"`
	Refused     int          `json:"refused"`
	Total       api.Duration `json:"total"`
	Average     api.Duration `json:"average"`
	Max         api.Duration `json:"max"`
	WaitAverage api.Duration `json:"wait_average"`
	WaitMax     api.Duration `json:"wait_max"`
}

// Lanes adds up records by lane, sorted by name. A refused call of an unknown tool has an empty
// lane. Use slices.Values for records in a slice.
func Lanes(records iter.Seq[api.Record]) []LaneUse {
	uses := map[string]*laneSum{}
	for r := range records {
		u := uses[r.Lane]
		if u == nil {
			u = &laneSum{LaneUse: LaneUse{Lane: r.Lane}}
			uses[r.Lane] = u
		}
		u.add(r)
	}
	lanes := make([]LaneUse, 0, len(uses))
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		lanes = append(lanes, uses[name].use())
	}
	return lanes
}

// laneSum has the sums for the averages.
type laneSum struct {
	LaneUse
	timed int
	waits api.Duration
}

func (s *laneSum) add(r api.Record) {
	s.Calls++
	switch r.Status {
	case api.CallRefused:
		s.Refused++
	case api.CallFailed, api.CallCancelled:
		s.Failed++
	}
	if r.Started.IsZero() || r.Closed.IsZero() {
		return
	}
	s.timed++
	s.Total += r.Duration
	s.Max = max(s.Max, r.Duration)
	s.waits += r.QueueWait
	s.WaitMax = max(s.WaitMax, r.QueueWait)
}

func (s *laneSum) use() LaneUse {
	if s.timed > 0 {
		s.Average, s.WaitAverage = s.Total/api.Duration(s.timed), s.waits/api.Duration(s.timed)
	}
	return s.LaneUse
}
