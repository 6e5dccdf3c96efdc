package interactions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// ranRun is a run of a scenario that has ended.
type ranRun struct {
	id, runID string
	actor     *actor
	// source is the run that it was forked from at a point, after forked; nil for none.
	source *ranRun
	at     string
	forked time.Time
	// cancelled is set if its cancellation was asked for.
	cancelled bool

	status  history.RunStatus
	failure string
	result  api.RunResult
	records []api.Record
}

// intent is one thing that a client of a session wants: a call and its repetitions.
type intent struct {
	session string
	spec    spec
	// calls are the IDs under which it was submitted.
	calls []string
	// told is what the client was told in the end; nil for nothing.
	told *api.CallOutcome
	// anew is set if it was meant anew after an equal call had ended, and attached if the client
	// got the outcome of another call nevertheless.
	anew, attached bool
}

// evidence is what is known of a scenario after its end: what the system says, and what the ledger
// says.
type evidence struct {
	runs    []*ranRun
	intents []intent
	seen    ledgerView
	// faults are those found.
	faults []string
}

func (v *evidence) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// evaluate compares records and answers with the ledger.
func (v *evidence) evaluate() []string {
	for _, r := range v.runs {
		v.ending(r)
		v.gapless(r)
		for _, record := range r.records {
			v.truth(r, record)
			v.late(record)
		}
		v.ownCalls(r)
		v.instances(r)
	}
	v.recorded()
	v.once()
	v.undone()
	v.spent()
	for _, i := range v.intents {
		v.intended(i)
	}
	return v.faults
}

// effectsOf returns the effects of a call, by the ID of effect.id.
func (v *evidence) effectsOf(id string) (all []effect) {
	for _, e := range v.seen.effects {
		if e.id() == id {
			all = append(all, e)
		}
	}
	return all
}

func idOf(r api.Record) string { return r.WorkflowID + "/" + r.CallID }

// describe names a call and how it ended.
func describe(r api.Record) string {
	text := fmt.Sprintf("%s of %s, %s", idOf(r), r.Tool, r.Status)
	if r.Error != nil {
		text += fmt.Sprintf(" (%s: %.200s)", r.Error.Type, r.Error.Message)
	}
	return text
}

// ending checks how a run ended. An agent whose script has an answer does not fail because of its
// calls.
func (v *evidence) ending(r *ranRun) {
	switch {
	case r.status == history.RunTerminated || r.status == history.RunTimedOut:
		v.fault("%s was ended by the server: %s", r.id, r.status)
	case r.actor.kind == agentActor && !r.actor.fails && r.status == history.RunFailed:
		v.fault("%s failed, although its script has an answer: %s", r.id, r.failure)
	case r.status == history.RunCancelled && !r.cancelled:
		v.fault("%s was cancelled, and nobody asked for that", r.id)
	}
}

// gapless checks that no call has two records, and that a run that came to its answer has one of
// each call.
func (v *evidence) gapless(r *ranRun) {
	seen := map[string]bool{}
	for _, record := range r.records {
		if seen[record.WorkflowID+" "+record.Path] {
			v.fault("%s has two records", describe(record))
		}
		seen[record.WorkflowID+" "+record.Path] = true
		if record.Status == api.CallRunning {
			v.fault("%s is running after the end of its run", describe(record))
		}
	}
	if r.status != history.RunCompleted || r.actor.kind == sessionActor ||
		r.result.Outcome == api.OutcomeLimit {
		return
	}
	for _, id := range r.expected() {
		if !seen[r.id+" "+id] {
			v.fault("%s completed without a record of its call %s", r.id, id)
		}
	}
}

// expected returns the IDs of the calls that a run makes if nothing stops it.
func (r *ranRun) expected() (ids []string) {
	if r.actor.kind == planActor {
		for i := range r.actor.turns[0] {
			ids = append(ids, planID(i))
		}
		return ids
	}
	turn, call := 1, 1
	if r.at != "" {
		_, _ = fmt.Sscanf(r.at, "%d.%d", &turn, &call) // a turn has no second number
	}
	for t := turn; t <= len(r.actor.turns); t++ {
		for c := call; c <= len(r.actor.turns[t-1]); c++ {
			ids = append(ids, fmt.Sprintf("%d.%d", t, c))
		}
		call = 1
	}
	return ids
}

// planID returns the ID of a call of a plan.
func planID(i int) string { return fmt.Sprint("c", i) }

// truth compares the record of a call with its effects.
func (v *evidence) truth(r *ranRun, record api.Record) {
	if record.Child != nil || isHelper(record.Tool) || record.Purpose != "" {
		return
	}
	acted := v.effectsOf(idOf(record))
	t := toolNamed(record.Tool)
	if t.effect == api.EffectOnce && len(acted) > 1 {
		v.fault("%s took effect %d times", describe(record), len(acted))
	}
	switch {
	case record.Status == api.CallCompleted && t.effect == api.EffectRead:
		if len(v.seen.begins[idOf(record)]) == 0 {
			v.fault("%s was never executed", describe(record))
		}
	case record.Status == api.CallCompleted:
		if len(acted) == 0 && !v.takenOver(r, record) {
			v.fault("%s had no effect", describe(record))
		}
	case len(acted) > 0 && !mayHaveActed(t, record.Error):
		v.fault("%s is told as not done and took effect", describe(record))
	}
}

// mayHaveActed reports whether an error says that its call may have taken effect.
func mayHaveActed(t spec, e *api.Error) bool {
	if e == nil || e.NotStarted || e.NotDone {
		return false
	}
	switch e.Type {
	case api.ErrOutcomeUnknown, api.ErrTimeout, api.ErrWorkerLost, api.ErrInvalidOutput:
		return true
	case api.ErrCancelled: // of a once call nothing has left the worker
		return t.effect != api.EffectOnce
	}
	return e.Unclear || e.Phase == api.PhasePostExecution
}

// takenOver reports whether a run above a fork made the call. An open source may have made it while
// starter read its history.
func (v *evidence) takenOver(r *ranRun, record api.Record) bool {
	if record.WorkflowID != r.id {
		return false
	}
	for above := r.source; above != nil; above = above.source {
		if slices.ContainsFunc(v.seen.effects, func(e effect) bool {
			return root(e.Workflow) == above.id && (e.Call == record.CallID ||
				e.Tool == record.Tool)
		}) {
			return true
		}
	}
	return false
}

// inherited returns the effects of the runs above a fork, each before it was forked from. What a
// sub-agent's run has undone, because it failed, the fork may have done again.
func (v *evidence) inherited(r *ranRun) (all []effect) {
	for ; r.source != nil; r = r.source {
		for _, e := range v.seen.effects {
			undone := v.seen.undone[e.Key]
			again := e.Parent != "" && !undone.IsZero() && undone.Before(r.forked)
			if root(e.Workflow) == r.source.id && e.at.Before(r.forked) && !again {
				all = append(all, e)
			}
		}
	}
	return all
}

// root returns the run at the top of a run of a sub-agent.
func root(workflow string) string {
	top, _, _ := strings.Cut(workflow, "/")
	return top
}

// tolerance is how much later than the end of its call an attempt may begin, by two clocks. The end
// of an inline call is recorded as if its worker had had the workflow task as soon as the server
// gave it out, which an outage of ten seconds delays.
const (
	tolerance       = time.Second
	inlineTolerance = 12 * time.Second
)

// late checks that no attempt of a call began after its end.
func (v *evidence) late(record api.Record) {
	most := tolerance
	if toolNamed(record.Tool).lane == api.LaneInline {
		most = inlineTolerance
	}
	for _, began := range v.seen.begins[idOf(record)] {
		if after := began.Sub(record.Closed); !record.Closed.IsZero() && after > most {
			v.fault("an attempt of %s began %s after its end", describe(record), after)
		}
	}
}

// recorded checks that each effect has a record.
func (v *evidence) recorded() {
	known := map[string]bool{}
	for _, r := range v.runs {
		for _, record := range r.records {
			known[idOf(record)] = true
		}
	}
	for _, e := range v.seen.effects {
		if !known[e.id()] {
			v.fault("%s of %s took effect and has no record", e.id(), e.Tool)
		}
	}
}

// once checks that no once call of a model or a plan took effect twice: neither in its run, nor in
// a fork after the fork's source had made it.
func (v *evidence) once() {
	for _, r := range v.runs {
		if r.actor.kind == sessionActor {
			continue
		}
		all := v.inherited(r)
		for _, e := range v.seen.effects {
			if root(e.Workflow) == r.id {
				all = append(all, e)
			}
		}
		groups := map[string][]effect{}
		for _, e := range all {
			for _, n := range e.N {
				key := fmt.Sprintf("%s %s/%d", e.Tool, e.Parent, n)
				groups[key] = append(groups[key], e)
			}
		}
		for key, effects := range groups {
			own := slices.ContainsFunc(effects,
				func(e effect) bool { return root(e.Workflow) == r.id })
			if toolNamed(effects[0].Tool).effect == api.EffectOnce && own &&
				len(effects) > r.actor.wanted(effects[0]) {
				v.fault("%s: %s took effect %d times: %s", r.id, key, len(effects), list(effects))
			}
		}
	}
}

// wanted returns how many calls the actor makes with the arguments of an effect.
func (a *actor) wanted(e effect) (count int) {
	if e.Parent != "" {
		return 1
	}
	for _, turn := range a.turns {
		for _, o := range turn {
			if o.n == e.N[0] {
				count++
			}
		}
	}
	return count
}

func list(effects []effect) string {
	var calls []string
	for _, e := range effects {
		calls = append(calls, e.id())
	}
	return strings.Join(calls, ", ")
}

// undone checks that the calls of failed and cancelled runs were undone, or that the record says
// why not.
func (v *evidence) undone() {
	for _, r := range v.runs {
		failed := (r.status == history.RunFailed || r.status == history.RunCancelled) &&
			r.actor.kind != sessionActor
		for _, e := range v.seen.effects {
			if root(e.Workflow) != r.id || toolNamed(e.Tool).undo == "" || !v.seen.undone[e.Key].IsZero() {
				continue
			}
			if (failed || r.failedAbove(e)) && !r.reported(e.Key) {
				v.fault("%s ended as %s, and the effect of %s of %s stays: %s", r.id, r.status,
					e.id(), e.Tool, r.record(e.id()))
			}
		}
	}
}

// failedAbove reports whether the run of a sub-agent that made the call did not complete.
func (r *ranRun) failedAbove(e effect) bool {
	for _, record := range r.records {
		if isHelper(record.Tool) && record.Status != api.CallCompleted && record.Purpose == "" &&
			(e.Parent == record.Path || strings.HasPrefix(e.Parent, record.Path+"/")) {
			return true
		}
	}
	return false
}

// record describes the record of a call.
func (r *ranRun) record(id string) string {
	for _, record := range r.records {
		if idOf(record) == id {
			return describe(record)
		}
	}
	return "without a record"
}

// reported reports whether a record says that a call could not be undone, because its tool refuses.
func (r *ranRun) reported(key string) bool {
	return slices.ContainsFunc(r.records, func(record api.Record) bool {
		var in own
		return record.Purpose == api.PurposeUndo && json.Unmarshal(record.Arguments, &in) == nil &&
			in.Key == key && in.Note == noteStays && record.Error != nil &&
			record.Error.Type == api.ErrExecution
	})
}

// overload are the errors of calls that are refused because of others.
var overload = []api.ErrorType{api.ErrQueueFull, api.ErrQueueTimeout, api.ErrPreconditionFailed,
	api.ErrBudgetExceeded, api.ErrPolicyViolation}

// ownCalls checks that calls that undo and verify others were not refused for load.
func (v *evidence) ownCalls(r *ranRun) {
	for _, record := range r.records {
		if record.Purpose != "" && record.Error != nil &&
			slices.Contains(overload, record.Error.Type) {
			v.fault("a call to %s was refused: %s", record.Purpose, describe(record))
		}
	}
}

// instances checks the results of stateful tools: each has the numbers of all calls that completed
// before it was scheduled, and none twice.
func (v *evidence) instances(r *ranRun) {
	results := map[string][]int{}
	var all []api.Record
	for _, record := range r.records {
		var numbers []int
		if !toolNamed(record.Tool).instance || record.Status != api.CallCompleted ||
			record.Result == nil || len(v.effectsOf(idOf(record))) == 0 {
			continue // a fork has results of the instance of its source
		}
		if err := json.Unmarshal(record.Result.Output, &numbers); err != nil {
			v.fault("%s has the result %s", describe(record), record.Result.Output)
			continue
		}
		all, results[idOf(record)] = append(all, record), numbers
	}
	for _, record := range all {
		v.instance(r, record, results[idOf(record)], all)
	}
}

func (v *evidence) instance(r *ranRun, record api.Record, numbers []int, all []api.Record) {
	counts := map[int]int{}
	for _, n := range numbers {
		if counts[n]++; counts[n] > r.actor.wanted(effect{N: []int{n}}) &&
			r.actor.kind != sessionActor {
			v.fault("%s: the call %d took effect twice in its instance: %v", describe(record), n,
				numbers)
		}
	}
	for _, earlier := range all {
		var in arguments
		if json.Unmarshal(earlier.Arguments, &in) == nil && earlier.Tool == record.Tool &&
			earlier.Closed.Before(record.Scheduled) && !slices.Contains(numbers, in.N) {
			v.fault("%s: its instance lost the completed call %s: %v", describe(record),
				earlier.CallID, numbers)
		}
	}
}

// spent checks that the calls of the principal spent no more than its limit.
func (v *evidence) spent() {
	sum := 0
	for _, e := range v.seen.effects {
		if toolNamed(e.Tool).spends {
			sum += e.Amount
		}
	}
	if sum > spendLimit {
		v.fault("the principal spent %d, and its limit is %d", sum, spendLimit)
	}
}

// intended compares what a client of a session was told with the ledger.
func (v *evidence) intended(i intent) {
	var acted []effect
	for _, id := range i.calls {
		acted = append(acted, v.effectsOf(i.session+"/"+id)...)
	}
	what := fmt.Sprintf("%s: calls %v of %s", i.session, i.calls, i.spec.name)
	if len(acted) > 1 && i.spec.effect == api.EffectOnce {
		v.fault("%s, which are one for the client, took effect %d times: %s", what, len(acted),
			list(acted))
	}
	if i.anew && i.attached {
		v.fault("%s: an equal call that was meant anew got the outcome of an earlier one that its "+
			"client had already: %s", what, outcomeText(i.told))
		return
	}
	switch {
	case i.told == nil || i.attached || i.spec.effect == api.EffectRead || isHelper(i.spec.name):
	case i.told.Error == nil && len(acted) == 0:
		v.fault("%s: the client was told that it completed, and it had no effect", what)
	case i.told.Error != nil && len(acted) > 0 && !mayHaveActed(i.spec, i.told.Error):
		v.fault("%s: the client was told that it is not done (%s), and it took effect", what,
			i.told.Error.Type)
	}
}

// outcomeText describes what a client was told.
func outcomeText(told *api.CallOutcome) string {
	data, err := jsonvalue.Encode(told)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
