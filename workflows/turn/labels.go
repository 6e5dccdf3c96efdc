package turn

import (
	"slices"

	"github.com/switchyard/switchyard/api"
)

// labelTimes orders the emissions of labels and the admissions of calls.
type labelTimes struct {
	// last counts emissions. emitted has the last emission of each label, and admitted the last
	// emission before the admission of each open call.
	last              int
	emitted, admitted map[string]int
	// inTurn is set while the calls of a turn run. deferred are the clearings of that turn.
	inTurn   bool
	deferred []clearing
}

// clearing is what a call that was admitted after an emission clears.
type clearing struct {
	after  int
	labels []api.Clearing
}

func newLabelTimes() labelTimes {
	return labelTimes{emitted: map[string]int{}, admitted: map[string]int{}}
}

func (t *labelTimes) emit(label string) {
	t.last++
	t.emitted[label] = t.last
}

func (t *labelTimes) admit(id string) { t.admitted[id] = t.last }

// Clear removes or replaces labels that an open call clears. Labels that other calls have emitted
// since its admission stay. During a turn, nothing changes before its end.
func (s *Facts) Clear(id string, labels []api.Clearing) {
	after, open := s.labels.admitted[id]
	if len(labels) == 0 || !open {
		return
	}
	c := clearing{after, labels}
	if s.labels.inTurn {
		s.labels.deferred = append(s.labels.deferred, c)
		return
	}
	s.clear(c)
}

func (s *Facts) clear(c clearing) {
	for _, one := range c.labels {
		i, there := slices.BinarySearch(s.Labels, one.Label)
		if !there || s.labels.emitted[one.Label] > c.after {
			continue
		}
		s.Labels = slices.Delete(slices.Clone(s.Labels), i, i+1)
		if one.To != "" {
			s.Label([]string{one.To})
		}
	}
}

// BeginTurn begins a turn, whose calls do not affect each other's labels. The function that it
// returns ends the turn and applies what its calls clear.
func (s *Facts) BeginTurn() (end func()) {
	s.labels.inTurn = true
	return s.endTurn
}

func (s *Facts) endTurn() {
	s.labels.inTurn = false
	for _, c := range s.labels.deferred {
		s.clear(c)
	}
	s.labels.deferred = nil
}
