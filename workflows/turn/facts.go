package turn

import (
	"maps"
	"slices"

	"github.com/switchyard/switchyard/api"
)

// Facts are what a run has seen and done so far, for policies.
type Facts struct {
	// Labels are sorted.
	Labels []string
	labels labelTimes
	calls  map[string]api.PastCalls
	// DescendantCalls are the calls of sub-agents, by tool, with api.OtherTools if a sub-agent
	// could not report its calls.
	DescendantCalls map[string]api.PastCalls
	// Open are the tools of the admitted calls that have not ended, by call ID.
	Open map[string]string
	// Started are those of them that were started. Tools counts per tool the calls that run and
	// wait.
	Started map[string]bool
	Tools   map[string]UnderWay
}

// UnderWay counts calls that run, and calls that wait for their turn or for a person.
type UnderWay struct{ Running, Waiting int }

func NewFacts(in *api.RunInput) Facts {
	s := Facts{calls: map[string]api.PastCalls{}, Open: map[string]string{},
		DescendantCalls: map[string]api.PastCalls{}, Started: map[string]bool{},
		Tools: map[string]UnderWay{}, labels: newLabelTimes()}
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

// TakeOver sets what the source of a forked run has done.
func (s *Facts) TakeOver(calls, descendants []api.PastCalls) {
	for _, p := range calls {
		p.Running = 0 // those that the run makes itself are counted when they are admitted
		s.calls[p.Tool] = p
	}
	for _, p := range descendants {
		s.DescendantCalls[p.Tool] = p
	}
}

// Adopt adds the calls of a sub-agent and of its descendants.
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

// Untold notes that sub-agents made calls that they did not report.
func (s *Facts) Untold() {
	s.DescendantCalls[api.OtherTools] = api.PastCalls{Tool: api.OtherTools}
}

// ContinueDescendants returns the calls of sub-agents, sorted by tool.
func (s *Facts) ContinueDescendants() (list []api.PastCalls) {
	for _, tool := range slices.Sorted(maps.Keys(s.DescendantCalls)) {
		list = append(list, s.DescendantCalls[tool])
	}
	return list
}

// Label adds labels. Only Clear removes labels, not a compaction of the conversation.
func (s *Facts) Label(labels []string) {
	for _, l := range labels {
		s.labels.emit(l)
		if i, there := slices.BinarySearch(s.Labels, l); !there {
			s.Labels = slices.Insert(slices.Clone(s.Labels), i, l)
		}
	}
}

// Admitted notes the decisions of admission.
func (s *Facts) Admitted(calls []api.Call, decisions []api.AdmissionDecision) {
	for i, v := range decisions {
		if v.Error == nil {
			s.close(v.ID)
			s.labels.admit(v.ID)
			s.Open[v.ID] = calls[i].Tool
			s.count(v.ID, 1)
		}
	}
}

// Begin notes a call that starts, and the calls that it replaces if it is a batch.
func (s *Facts) Begin(id string, parts []string) {
	s.move(id)
	for _, part := range parts {
		s.move(part)
	}
}

func (s *Facts) move(id string) {
	if _, open := s.Open[id]; open {
		s.count(id, -1)
		s.Started[id] = true
		s.count(id, 1)
	}
}

// close forgets an admitted call.
func (s *Facts) close(id string) {
	delete(s.labels.admitted, id)
	if _, open := s.Open[id]; open {
		s.count(id, -1)
		delete(s.Started, id)
		delete(s.Open, id)
	}
}

// count adds n to the running or waiting calls of the tool of an open call.
func (s *Facts) count(id string, n int) {
	tool := s.Open[id]
	u := s.Tools[tool]
	if s.Started[id] {
		u.Running += n
	} else {
		u.Waiting += n
	}
	if s.Tools[tool] = u; u == (UnderWay{}) {
		delete(s.Tools, tool)
	}
}

// Refused counts a call that was not executed.
func (s *Facts) Refused(c api.Call) {
	s.close(c.ID)
	p := s.calls[c.Tool]
	p.Refused++
	s.calls[c.Tool] = p
}

// Ended counts a call that was let through. Where it was executed, its tool's labels count however
// it ended: the text of a failure comes from the same place as a result.
func (s *Facts) Ended(out api.CallOutcome, t api.Tool) {
	if out.Error != nil && out.Error.BeforeStart() {
		s.Refused(api.Call{ID: out.ID, Tool: out.Tool})
		return
	}
	if out.Result != nil {
		s.Clear(out.ID, out.Result.Cleared)
	}
	s.close(out.ID)
	p := s.calls[out.Tool]
	if out.Error == nil {
		p.Completed++
	} else {
		p.Failed++
	}
	s.calls[out.Tool] = p
	s.Label(out.EmittedOf(t.Emits))
}

// Past is what the run has done, by tool, sorted; without the call that is being judged, where it
// was let through before.
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
