package turn

import (
	"maps"
	"slices"

	"github.com/switchyard/switchyard/api"
)

// seen is what a run has seen and done so far, for policies.
type Facts struct {
	// labels are sorted.
	Labels []string
	calls  map[string]api.PastCalls
	// below are the calls of sub-agents, by tool. switchyard.OtherTools is in it where one of them could not tell of its calls.
	DescendantCalls map[string]api.PastCalls
	// open are the tools of the calls that were let through and have not ended, by call.
	Open map[string]string
	// begun are those of them that were begun, tools how many calls of each tool run and wait.
	Begun map[string]bool
	Tools map[string]UnderWay
}

// underWay counts calls that were begun, and those that wait for their turn or for a person.
type UnderWay struct{ Running, Waiting int }

func NewFacts(in api.RunInput) Facts {
	s := Facts{calls: map[string]api.PastCalls{}, Open: map[string]string{}, DescendantCalls: map[string]api.PastCalls{}, Begun: map[string]bool{}, Tools: map[string]UnderWay{}}
	s.Label(in.Labels)
	if in.State != nil {
		s.Label(in.State.Labels)
		for _, p := range in.State.Calls {
			s.calls[p.Tool] = p
		}
		for _, p := range in.State.DescendantCalls {
			s.DescendantCalls[p.Tool] = p
		}
	}
	return s
}

// adopt takes in what a sub-agent tells of its calls, and of those below it.
func (s *Facts) Adopt(b *api.CallStats) {
	if b == nil {
		return
	}
	for _, t := range b.Tools {
		of := s.DescendantCalls[t.Tool].Plus(t)
		of.Tool = t.Tool
		s.DescendantCalls[t.Tool] = of
	}
	if b.Others > 0 {
		s.Untold()
	}
}

// untold notes that there are calls of sub-agents besides those that are known.
func (s *Facts) Untold() {
	s.DescendantCalls[api.OtherTools] = api.PastCalls{Tool: api.OtherTools}
}

// carryBelow are the calls of sub-agents, by tool, sorted.
func (s *Facts) ContinueDescendants() (list []api.PastCalls) {
	for _, tool := range slices.Sorted(maps.Keys(s.DescendantCalls)) {
		list = append(list, s.DescendantCalls[tool])
	}
	return list
}

// label adds labels. What a run has seen it never forgets: not even a compaction takes out of a conversation what it did to it.
func (s *Facts) Label(labels []string) {
	for _, l := range labels {
		if i, there := slices.BinarySearch(s.Labels, l); !there {
			s.Labels = slices.Insert(slices.Clone(s.Labels), i, l)
		}
	}
}

// admitted takes in verdicts on calls.
func (s *Facts) Admitted(calls []api.Call, decisions []api.AdmissionDecision) {
	for i, v := range decisions {
		if v.Error == nil {
			s.close(v.ID)
			s.Open[v.ID] = calls[i].Tool
			s.count(v.ID, 1)
		}
	}
}

// begin notes a call that is begun, and those that are made together with it.
func (s *Facts) Begin(id string, parts []string) {
	s.move(id)
	for _, part := range parts {
		s.move(part)
	}
}

func (s *Facts) move(id string) {
	if _, open := s.Open[id]; open {
		s.count(id, -1)
		s.Begun[id] = true
		s.count(id, 1)
	}
}

// close forgets a call that was let through.
func (s *Facts) close(id string) {
	if _, open := s.Open[id]; open {
		s.count(id, -1)
		delete(s.Begun, id)
		delete(s.Open, id)
	}
}

// count adds n to the calls of an open call's tool that run or wait, as that one does.
func (s *Facts) count(id string, n int) {
	tool := s.Open[id]
	u := s.Tools[tool]
	if s.Begun[id] {
		u.Running += n
	} else {
		u.Waiting += n
	}
	if s.Tools[tool] = u; u == (UnderWay{}) {
		delete(s.Tools, tool)
	}
}

// refused counts a call that was not executed.
func (s *Facts) Refused(c api.Call) {
	s.close(c.ID)
	p := s.calls[c.Tool]
	p.Refused++
	s.calls[c.Tool] = p
}

// ended counts a call that was let through. Where it was executed, its tool's labels count however it ended: the text of a
// failure comes from the same place as a result.
func (s *Facts) Ended(out api.CallOutcome, t api.Tool) {
	if e := out.Error; e != nil && (e.NotStarted || e.Phase == api.PhasePreValidation || e.Phase == api.PhasePreExecution) {
		s.Refused(api.Call{ID: out.ID, Tool: out.Tool})
		return
	}
	s.close(out.ID)
	p := s.calls[out.Tool]
	if out.Error == nil {
		p.Completed++
	} else {
		p.Failed++
	}
	s.calls[out.Tool] = p
	s.Label(t.Emits)
}

// past is what the run has done, by tool, sorted; without the call that is being judged, where it was let through before.
func (s *Facts) Past(evaluated string) []api.PastCalls {
	calls := maps.Clone(s.calls)
	for _, id := range slices.Sorted(maps.Keys(s.Open)) {
		if id == evaluated {
			continue
		}
		tool := s.Open[id]
		p := calls[tool]
		p.Running++
		calls[tool] = p
	}
	var list []api.PastCalls
	for _, tool := range slices.Sorted(maps.Keys(calls)) {
		p := calls[tool]
		p.Tool = tool
		list = append(list, p)
	}
	return list
}
