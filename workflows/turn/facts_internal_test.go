package turn

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// The counts are right through the whole life of a call, also if it is reported twice.
func TestRunFacts_CountRunningCalls(t *testing.T) {
	s := NewFacts(&api.RunInput{})
	calls := []api.Call{{Tool: "a"}, {Tool: "a"}, {Tool: "b"}}
	decisions := []api.AdmissionDecision{{ID: "1"}, {ID: "2"}, {ID: "3"}}
	s.RecordAdmissions(calls, decisions, 1, time.Time{})
	s.RecordAdmissions(calls[:1], decisions[:1], 1, time.Time{})
	s.Begin("1", []string{"1", "2"})
	s.Begin("of no tool", nil)
	if a, b := s.Tools.Get("a"), s.Tools.Get("b"); a != (UnderWay{Running: 2}) ||
		b != (UnderWay{Waiting: 1}) || s.Running != 2 {
		t.Errorf("got %+v, %v", s.Tools, s.Running)
	}
	s.RecordOutcome(api.CallOutcome{ID: "1", Tool: "a"}, api.Tool{})
	s.RecordOutcome(api.CallOutcome{ID: "2", Tool: "a"}, api.Tool{})
	s.RecordRefusal(api.Call{ID: "3", Tool: "b"})
	s.RecordRefusal(api.Call{ID: "3", Tool: "b"})
	if s.Tools.Len()+s.Running+s.Open() != 0 {
		t.Errorf("left: %+v, %v, %v", s.Tools, s.Running, s.Open())
	}
}
