package turn

import (
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/workflows/smallmap"
)

// Facts are what a run has seen and done so far, for policies.
type Facts struct {
	// Labels are sorted.
	Labels []string
	labels labelTimes
	calls  smallmap.Map[api.PastCalls]
	// Log has the calls with their arguments and results.
	Log Log
	// DescendantCalls are the calls of sub-agents, by tool, with api.OtherTools if a sub-agent
	// could not report its calls.
	DescendantCalls smallmap.Map[api.PastCalls]
	// open are the admitted calls that have not ended, by call ID. Running counts those of them
	// that were started. Tools counts per tool the calls that run and wait.
	open    smallmap.Map[openCall]
	Running int
	Tools   smallmap.Map[UnderWay]
}

// openCall is an admitted call of a tool that has not ended.
type openCall struct {
	tool    string
	started bool
}

// UnderWay counts calls that run, and calls that wait for their turn or for a person.
type UnderWay struct{ Running, Waiting int }

func NewFacts(in *api.RunInput) Facts {
	s := Facts{labels: newLabelTimes()}
	s.Label(in.Labels)
	if in.State != nil {
		s.Label(in.State.Labels)
		for _, p := range in.State.Calls {
			s.calls.Set(p.Tool, p)
		}
		s.Log.resume(in.State.Earlier)
		for _, p := range in.State.DescendantCalls {
			s.DescendantCalls.Set(p.Tool, p)
		}
	}
	return s
}

// TakeOver sets what the run has done that this one goes on from.
func (s *Facts) TakeOver(calls, descendants []api.PastCalls) {
	for _, p := range calls {
		p.Running = 0 // those that the run makes itself are counted when they are admitted
		s.calls.Set(p.Tool, p)
	}
	for _, p := range descendants {
		s.DescendantCalls.Set(p.Tool, p)
	}
}

// Adopt adds the calls of a sub-agent and of its descendants.
func (s *Facts) Adopt(b *api.CallStats) {
	if b == nil {
		return
	}
	for _, t := range b.Tools {
		of := s.DescendantCalls.Get(t.Tool).Plus(t)
		of.Tool = t.Tool
		s.DescendantCalls.Set(t.Tool, of)
	}
	if b.Others > 0 {
		s.Untold()
	}
}

// Untold notes that sub-agents made calls that they did not report.
func (s *Facts) Untold() {
	s.DescendantCalls.Set(api.OtherTools, api.PastCalls{Tool: api.OtherTools})
}

// ContinueDescendants returns the calls of sub-agents, sorted by tool.
func (s *Facts) ContinueDescendants() (list []api.PastCalls) {
	for _, tool := range s.DescendantCalls.Keys() {
		list = append(list, s.DescendantCalls.Get(tool))
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

// LabelCall adds labels of a sub-agent, which its call's result has too.
func (s *Facts) LabelCall(call string, labels []string) {
	s.Label(labels)
	s.Log.label(call, labels)
}

// RecordAdmissions notes the decisions of admission, in a turn.
func (s *Facts) RecordAdmissions(calls []api.Call, decisions []api.AdmissionDecision, turn int,
	at time.Time) {
	for i, v := range decisions {
		if v.Error == nil {
			s.close(v.ID)
			s.labels.admit(v.ID)
			s.open.Set(v.ID, openCall{tool: calls[i].Tool})
			s.count(openCall{tool: calls[i].Tool}, 1)
			if calls[i].IsGoverned() {
				s.Log.begin(calls[i], v, turn, at, s.Labels)
			}
		}
	}
}

// RecordChange notes that a person changed the arguments of an admitted call.
func (s *Facts) RecordChange(id string, arguments []byte) { s.Log.change(id, arguments) }

// Begin notes a call that starts, and the calls that it replaces if it is a batch.
func (s *Facts) Begin(id string, parts []string) {
	s.move(id)
	for _, part := range parts {
		s.move(part)
	}
}

func (s *Facts) move(id string) {
	if c, ok := s.open.Find(id); ok && !c.started {
		s.count(c, -1)
		c.started = true
		s.open.Set(id, c)
		s.count(c, 1)
	}
}

// close forgets an admitted call.
func (s *Facts) close(id string) {
	delete(s.labels.admitted, id)
	if c, ok := s.open.Find(id); ok {
		s.count(c, -1)
		s.open.Delete(id)
	}
}

// count adds n to the running or waiting calls of the tool of an open call.
func (s *Facts) count(c openCall, n int) {
	u := s.Tools.Get(c.tool)
	if c.started {
		u.Running += n
		s.Running += n
	} else {
		u.Waiting += n
	}
	if u == (UnderWay{}) {
		s.Tools.Delete(c.tool)
	} else {
		s.Tools.Set(c.tool, u)
	}
}

// Open returns how many admitted calls have not ended.
func (s *Facts) Open() int { return s.open.Len() }

// RecordRefusal counts a call that was not executed.
func (s *Facts) RecordRefusal(c api.Call) {
	s.close(c.ID)
	s.Log.refuse(c)
	p := s.calls.Get(c.Tool)
	p.Refused++
	s.calls.Set(c.Tool, p)
}

// RecordOutcome counts a call that was let through. Where it was executed, its tool's labels count
// however
// it ended: the text of a failure comes from the same place as a result.
func (s *Facts) RecordOutcome(out api.CallOutcome, t api.Tool) {
	if out.Error != nil && out.Error.BeforeStart() {
		s.RecordRefusal(api.Call{ID: out.ID, Tool: out.Tool})
		return
	}
	if out.Result != nil {
		s.Clear(out.ID, out.Result.Cleared)
	}
	s.close(out.ID)
	p := s.calls.Get(out.Tool)
	if out.Error == nil {
		p.Completed++
	} else {
		p.Failed++
	}
	s.calls.Set(out.Tool, p)
	emitted := policyrules.EmittedLabels(out, t.Emits)
	s.Label(emitted)
	s.Log.end(out, emitted, s.Labels)
}

// EndedCalls are the calls of the run that have ended, by tool, sorted.
func (s *Facts) EndedCalls() (list []api.PastCalls) {
	for _, tool := range s.calls.Keys() {
		p := s.calls.Get(tool)
		p.Tool = tool
		list = append(list, p)
	}
	return list
}

// Past is what the run has done, by tool, sorted; without the call that is being judged, where it
// was let through before.
func (s *Facts) Past(evaluated string) []api.PastCalls {
	var calls smallmap.Map[api.PastCalls]
	for _, tool := range s.calls.Keys() {
		calls.Set(tool, s.calls.Get(tool))
	}
	for _, id := range s.open.Keys() {
		if id == evaluated {
			continue
		}
		tool := s.open.Get(id).tool
		p := calls.Get(tool)
		p.Running++
		calls.Set(tool, p)
	}
	var list []api.PastCalls
	for _, tool := range calls.Keys() {
		p := calls.Get(tool)
		p.Tool = tool
		list = append(list, p)
	}
	return list
}
