package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/internal/value/display"
)

// Source is the run that is forked.
type Source struct {
	WorkflowID string
	// Prompt is its prompt.
	Prompt string
}

// Edits are what the forked run takes over otherwise than recorded.
type Edits struct {
	// Results are the results of calls by their IDs.
	Results map[string][]byte
	// Prompt replaces the source's prompt; nil keeps it.
	Prompt *string
	// FreshInstances drops instances, so that calls make new ones.
	FreshInstances bool
}

// Taken is what a forked run takes over, and where it begins.
type Taken struct {
	State forks.State
	// Turn and Before are as in api.Beginning, Pending its calls, Calls as in forks.Fork.
	Turn, Before, Calls int
	Pending             []api.Call
}

// State returns what a run takes over that is forked at a turn, such as "3", or at a call, such as
// "3.2". The error says why the run cannot be forked there.
func (o *Observer) State(s Source, at string, edits Edits) (Taken, error) {
	turn, call, err := o.place(at)
	if err != nil {
		return Taken{}, err
	}
	p := o.points[turn]
	t := Taken{Turn: turn - 1, Before: p.Before, State: forks.State{
		Messages: slices.DeleteFunc(slices.Clone(p.Messages),
			func(m api.Message) bool { return m.Role == api.RoleSystem }),
		Labels: p.Labels, Calls: p.Calls, DescendantCalls: p.DescendantCalls}}
	var before []api.Call
	if call != "" {
		t.Turn = turn
		if before, err = o.beginTurn(&t.State, turn, call); err != nil {
			return Taken{}, err
		}
		t.Pending = o.answers[turn].Calls[len(before):]
	}
	if t.State.Instances, err = o.instances(p, before, edits); err != nil {
		return Taken{}, err
	}
	t.State.Recorded = o.listRecorded(s, turn, before)
	for _, m := range t.State.Messages {
		if m.Role == api.RoleTool {
			t.Calls++
		}
	}
	return t, edit(t.State.Messages, s, edits)
}

// place returns the turn of a point and the call, which is empty for a turn.
func (o *Observer) place(at string) (turn int, call string, err error) {
	first, _, isCall := strings.Cut(at, ".")
	turn, err = strconv.Atoi(first)
	if err != nil {
		return 0, "", fmt.Errorf("%q is neither a turn, such as 3, nor a call, such as 3.2", at)
	}
	if _, ok := o.points[turn]; !ok {
		return 0, "", fmt.Errorf("the run has no turn %d; it has %s", turn, o.turns())
	}
	if isCall {
		call = at
	}
	return turn, call, nil
}

// turns names the turns that the run has reached.
func (o *Observer) turns() string {
	if len(o.points) == 0 {
		return "none: it has not reached its first model step"
	}
	first, last := 0, 0
	for turn := range o.points {
		if first == 0 || turn < first {
			first = turn
		}
		last = max(last, turn)
	}
	return fmt.Sprintf("the turns %d to %d", first, last)
}

// beginTurn adds the answer of the model and the outcomes of the calls before one call of it. It
// returns those calls.
func (o *Observer) beginTurn(s *forks.State, turn int, call string) ([]api.Call, error) {
	answer := o.answers[turn]
	n := slices.IndexFunc(answer.Calls, func(c api.Call) bool { return c.ID == call })
	if n < 0 {
		return nil, fmt.Errorf("turn %d has no call %s; it has %s", turn, call,
			display.Plural(len(answer.Calls), "call"))
	}
	s.Messages = append(s.Messages, answer)
	for _, c := range answer.Calls[:n] {
		out, ok := o.outcomes[c.ID]
		if !ok {
			return nil, fmt.Errorf("the call %s before %s has no outcome yet; fork at %s or at %d",
				c.ID, call, c.ID, turn)
		}
		s.Messages = append(s.Messages, out.message)
		s.Labels = union(s.Labels, out.labels)
		s.Calls = count(s.Calls, out.CallOutcome)
	}
	return answer.Calls[:n], nil
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// count adds a call that has ended to the counts by tool, which are sorted.
func count(calls []api.PastCalls, out api.CallOutcome) []api.PastCalls {
	calls = slices.Clone(calls)
	i, ok := slices.BinarySearchFunc(calls, out.Tool,
		func(p api.PastCalls, tool string) int { return strings.Compare(p.Tool, tool) })
	if !ok {
		calls = slices.Insert(calls, i, api.PastCalls{Tool: out.Tool})
	}
	switch {
	case out.Error == nil:
		calls[i].Completed++
	case out.Error.BeforeStart():
		calls[i].Refused++
	default:
		calls[i].Failed++
	}
	return calls
}

// instances returns the instances that the forked run restores. before are calls after the point
// that are taken over as well.
func (o *Observer) instances(p Point, before []api.Call, edits Edits) ([]api.InstanceState, error) {
	if edits.FreshInstances {
		return nil, nil
	}
	var states []api.InstanceState
	for _, i := range p.Instances {
		if i.Live {
			return nil, lost(i.Name)
		}
		states = append(states, i.State)
	}
	for _, c := range before {
		e := o.byID[c.ID]
		if e != nil && e.tool.Dispatch == api.DispatchInstance {
			return nil, lost(e.tool.InstanceName())
		}
	}
	return states, nil
}

func lost(instance string) error {
	return fmt.Errorf("a worker had the instance of %s at that point, and the history has no "+
		"snapshot of it from then; pass --fresh-instances to start with a new one", instance)
}

// listRecorded returns the calls with effect once that the source made after the point, and those
// of
// its own sources that it has not asked for.
func (o *Observer) listRecorded(s Source, turn int, before []api.Call) []forks.RecordedCall {
	var list []forks.RecordedCall
	for _, e := range o.executed {
		taken := slices.ContainsFunc(before, func(c api.Call) bool { return c.ID == e.call.ID })
		if taken || api.CallTurn(e.call.ID) < turn || e.call.OfRun() ||
			e.tool.Effect != api.EffectOnce {
			continue
		}
		if r, acted := o.record(s, e); acted {
			list = append(list, r)
		}
	}
	return append(list, o.left...)
}

// record returns how an executed call is answered in the forked run; false if it had no effect.
func (o *Observer) record(s Source, e *executed) (r forks.RecordedCall, acted bool) {
	if e.taken != nil {
		return *e.taken, true
	}
	r = forks.RecordedCall{Key: api.CallDigest(e.tool.Name, e.call.Arguments),
		Executed: api.CallDigest(e.tool.Name, string(e.arguments)),
		Source:   "call " + e.call.ID + " of run " + s.WorkflowID}
	out, ended := o.outcomes[e.call.ID]
	switch {
	case e.undone:
		r.Error = api.Errorf(api.ErrPolicyViolation, "%s made this call and undid it; a forked run "+
			"does not repeat it", r.Source)
	case !ended:
		r.Error = api.Errorf(api.ErrOutcomeUnknown,
			"%s was being made when that run was forked; a forked run does not repeat it", r.Source)
	case out.Error == nil:
		r.Output = out.Result.Output
	case out.Error.MayHaveActed():
		r.Error = out.Error
	default:
		return r, false
	}
	return r, true
}

// edit changes the messages that a forked run takes over.
func edit(messages []api.Message, s Source, edits Edits) error {
	for id, output := range edits.Results {
		i := slices.IndexFunc(messages, func(m api.Message) bool { return m.CallID == id })
		if i < 0 {
			return fmt.Errorf("the result of call %s is not taken over at this point", id)
		}
		messages[i] = api.CallOutcome{ID: id, Result: &api.Result{Output: output}}.Message()
	}
	if edits.Prompt == nil {
		return nil
	}
	i := slices.IndexFunc(messages, func(m api.Message) bool {
		return m.Role == api.RoleUser && m.Text == s.Prompt
	})
	if i < 0 || s.Prompt == "" {
		return fmt.Errorf("the conversation has no prompt to replace at this point")
	}
	messages[i].Text = *edits.Prompt
	return nil
}
