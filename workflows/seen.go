package workflows

import (
	"maps"
	"slices"

	"github.com/switchyard/switchyard/api"
)

// seen is what a run has seen and done so far, for policies.
type runFacts struct {
	// labels are sorted.
	labels []string
	calls  map[string]api.PastCalls
	// below are the calls of sub-agents, by tool. switchyard.OtherTools is in it where one of them could not tell of its calls.
	below map[string]api.PastCalls
	// open are the tools of the calls that were let through and have not ended, by call.
	open map[string]string
	// begun are those of them that were begun, tools how many calls of each tool run and wait.
	begun map[string]bool
	tools map[string]underWay
}

// underWay counts calls that were begun, and those that wait for their turn or for a person.
type underWay struct{ running, waiting int }

func newRunFacts(in api.RunInput) runFacts {
	s := runFacts{calls: map[string]api.PastCalls{}, open: map[string]string{}, below: map[string]api.PastCalls{}, begun: map[string]bool{}, tools: map[string]underWay{}}
	s.label(in.Labels)
	if in.State != nil {
		s.label(in.State.Labels)
		for _, p := range in.State.Calls {
			s.calls[p.Tool] = p
		}
		for _, p := range in.State.DescendantCalls {
			s.below[p.Tool] = p
		}
	}
	return s
}

// adopt takes in what a sub-agent tells of its calls, and of those below it.
func (s *runFacts) adopt(b *api.CallStats) {
	if b == nil {
		return
	}
	for _, t := range b.Tools {
		of := s.below[t.Tool].Plus(t)
		of.Tool = t.Tool
		s.below[t.Tool] = of
	}
	if b.Others > 0 {
		s.untold()
	}
}

// untold notes that there are calls of sub-agents besides those that are known.
func (s *runFacts) untold() {
	s.below[api.OtherTools] = api.PastCalls{Tool: api.OtherTools}
}

// carryBelow are the calls of sub-agents, by tool, sorted.
func (s *runFacts) continueDescendants() (list []api.PastCalls) {
	for _, tool := range slices.Sorted(maps.Keys(s.below)) {
		list = append(list, s.below[tool])
	}
	return list
}

// label adds labels. What a run has seen it never forgets: not even a compaction takes out of a conversation what it did to it.
func (s *runFacts) label(labels []string) {
	for _, l := range labels {
		if i, there := slices.BinarySearch(s.labels, l); !there {
			s.labels = slices.Insert(slices.Clone(s.labels), i, l)
		}
	}
}

// admitted takes in verdicts on calls.
func (s *runFacts) admitted(calls []api.Call, decisions []api.AdmissionDecision) {
	for i, v := range decisions {
		if v.Error == nil {
			s.close(v.ID)
			s.open[v.ID] = calls[i].Tool
			s.count(v.ID, 1)
		}
	}
}

// begin notes a call that is begun, and those that are made together with it.
func (s *runFacts) begin(id string, parts []part) {
	s.move(id)
	for _, part := range parts {
		s.move(part.ID)
	}
}

func (s *runFacts) move(id string) {
	if _, open := s.open[id]; open {
		s.count(id, -1)
		s.begun[id] = true
		s.count(id, 1)
	}
}

// close forgets a call that was let through.
func (s *runFacts) close(id string) {
	if _, open := s.open[id]; open {
		s.count(id, -1)
		delete(s.begun, id)
		delete(s.open, id)
	}
}

// count adds n to the calls of an open call's tool that run or wait, as that one does.
func (s *runFacts) count(id string, n int) {
	tool := s.open[id]
	u := s.tools[tool]
	if s.begun[id] {
		u.running += n
	} else {
		u.waiting += n
	}
	if s.tools[tool] = u; u == (underWay{}) {
		delete(s.tools, tool)
	}
}

// refused counts a call that was not executed.
func (s *runFacts) refused(c api.Call) {
	s.close(c.ID)
	p := s.calls[c.Tool]
	p.Refused++
	s.calls[c.Tool] = p
}

// ended counts a call that was let through. Where it was executed, its tool's labels count however it ended: the text of a
// failure comes from the same place as a result.
func (s *runFacts) ended(out api.CallOutcome, t api.Tool) {
	if e := out.Error; e != nil && (e.NotStarted || e.Phase == api.PhasePreValidation || e.Phase == api.PhasePreExecution) {
		s.refused(api.Call{ID: out.ID, Tool: out.Tool})
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
	s.label(t.Emits)
}

// past is what the run has done, by tool, sorted; without the call that is being judged, where it was let through before.
func (s *runFacts) past(evaluated string) []api.PastCalls {
	calls := maps.Clone(s.calls)
	for _, id := range slices.Sorted(maps.Keys(s.open)) {
		if id == evaluated {
			continue
		}
		tool := s.open[id]
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

// facts are what policies can know of the run.
func (p admitter) facts() api.RunFacts {
	return api.RunFacts{Run: p.origin.Run, Conversation: p.origin.Conversation, Turn: p.turn, Labels: p.runFacts.labels, Calls: p.runFacts.past(""),
		Usage: p.usage, Limits: p.limits, Started: p.started}
}

// emittedBy returns the labels that the run of an agent tool may have seen, by what it could call, however deep: nobody knows
// what one saw that failed.
func (p *pipeline) emittedBy(t api.Tool) []string {
	var labels []string
	visited := map[string]bool{}
	for next := []api.Tool{t}; len(next) > 0; next = next[1:] {
		labels = append(labels, next[0].Emits...)
		agent, err := agentOf(next[0])
		if next[0].Kind != api.KindAgent || err != nil {
			continue
		}
		for _, name := range agent.Tools {
			if below, ok := p.tools[name]; ok && !visited[name] {
				visited[name] = true
				next = append(next, below)
			}
		}
	}
	return labels
}
