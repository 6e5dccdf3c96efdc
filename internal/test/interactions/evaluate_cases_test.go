package interactions

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
)

// situation is evidence of a run s1-a, with the calls of its agent, before it is evaluated.
type situation struct {
	*evidence
	run *ranRun
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// newSituation returns a completed run of an agent that makes one call of each tool in one turn.
func newSituation(names ...string) *situation {
	a := &actor{kind: agentActor, name: "s1-a", turns: [][]order{{}}}
	for i, name := range names {
		a.turns[0] = append(a.turns[0], order{spec: toolNamed(name), n: i + 1})
	}
	s := &situation{run: &ranRun{id: a.name, actor: a, status: history.RunCompleted,
		result: api.RunResult{Outcome: api.OutcomeAnswered}}}
	s.evidence = &evidence{runs: []*ranRun{s.run}, seen: ledgerView{
		begins: map[string][]time.Time{}, undone: map[string]time.Time{}}}
	return s
}

// call adds the record of a call of a run; kind is the type of its error, "" for none.
func (s *situation) call(r *ranRun, id, name string, kind api.ErrorType) *api.Record {
	record := api.Record{WorkflowID: r.id, CallID: id, Path: id, Tool: name,
		Status: api.CallCompleted}
	record.Closed = noon.Add(time.Second)
	if kind != "" {
		record.Status, record.Error = api.CallFailed, api.Errorf(kind, "failed")
	}
	r.records = append(r.records, record)
	return &r.records[len(r.records)-1]
}

// act adds an effect of a call.
func (s *situation) act(r *ranRun, id, name string, n int) {
	s.seen.effects = append(s.seen.effects, effect{Actor: r.actor.name, Workflow: r.id, Call: id,
		Tool: name, Key: r.id + "/" + id, N: []int{n}, at: noon})
	s.seen.begins[r.id+"/"+id] = append(s.seen.begins[r.id+"/"+id], noon)
}

// fork adds a fork of the run, from its first turn.
func (s *situation) fork(forked time.Time) *ranRun {
	r := &ranRun{id: s.run.id + "-fork-1", actor: s.run.actor, source: s.run, at: "1",
		forked: forked, status: history.RunCompleted, result: s.run.result}
	s.runs = append(s.runs, r)
	return r
}

// undo adds the record of a call that undoes 1.1.
func (s *situation) undo(kind api.ErrorType, note string) {
	r := s.call(s.run, "undo-1.1", "take_back", kind)
	r.Purpose, r.Path = api.PurposeUndo, "1.1/undo-1.1"
	r.Arguments, _ = json.Marshal(own{Key: "s1-a/1.1", Note: note})
}

// The evaluation finds each broken promise, and nothing where all are kept.
func TestEvaluate_FindsBrokenPromises(t *testing.T) {
	for name, test := range map[string]struct {
		tools []string
		do    func(s *situation)
		want  string
	}{
		"all kept": {[]string{"pay", "peek"}, func(s *situation) {
			s.call(s.run, "1.1", "pay", "")
			s.act(s.run, "1.1", "pay", 1)
			s.call(s.run, "1.2", "peek", "")
			s.seen.begins["s1-a/1.2"] = []time.Time{noon}
		}, ""},
		"twice": {[]string{"pay"}, func(s *situation) {
			s.call(s.run, "1.1", "pay", "")
			s.act(s.run, "1.1", "pay", 1)
			s.act(s.run, "1.1", "pay", 1)
		}, "took effect 2 times"},
		"without effect": {[]string{"pay"}, func(s *situation) {
			s.call(s.run, "1.1", "pay", "")
		}, "had no effect"},
		"read without execution": {[]string{"peek"}, func(s *situation) {
			s.call(s.run, "1.1", "peek", "")
		}, "never executed"},
		"told as failed": {[]string{"pay"}, func(s *situation) {
			s.call(s.run, "1.1", "pay", api.ErrExecution)
			s.act(s.run, "1.1", "pay", 1)
		}, "told as not done"},
		"told as cancelled": {[]string{"pay"}, func(s *situation) {
			s.call(s.run, "1.1", "pay", api.ErrCancelled)
			s.act(s.run, "1.1", "pay", 1)
		}, "told as not done"},
		"told as unknown": {[]string{"pay"}, func(s *situation) {
			s.call(s.run, "1.1", "pay", api.ErrOutcomeUnknown)
			s.act(s.run, "1.1", "pay", 1)
		}, ""},
		"without a record": {nil, func(s *situation) {
			s.act(s.run, "1.1", "put", 1)
		}, "has no record"},
		"a call is missing": {[]string{"pay"}, func(*situation) {},
			"without a record of its call 1.1"},
		"two records": {[]string{"pay"}, func(s *situation) {
			s.call(s.run, "1.1", "pay", api.ErrQueueFull)
			s.call(s.run, "1.1", "pay", api.ErrQueueFull)
		}, "two records"},
		"an attempt after the end": {[]string{"pay"}, func(s *situation) {
			s.call(s.run, "1.1", "pay", api.ErrTimeout)
			s.act(s.run, "1.1", "pay", 1)
			s.seen.begins["s1-a/1.1"][0] = noon.Add(3 * time.Second)
		}, "after its end"},
		"repeated by a fork": {[]string{"pay"}, func(s *situation) {
			f := s.fork(noon.Add(time.Minute))
			for _, r := range s.runs {
				s.call(r, "1.1", "pay", "")
				s.act(r, "1.1", "pay", 1)
			}
			_ = f
		}, "took effect 2 times"},
		"made by a fork before its source": {[]string{"pay"}, func(s *situation) {
			s.fork(noon.Add(-time.Minute))
			for _, r := range s.runs {
				s.call(r, "1.1", "pay", "")
				s.act(r, "1.1", "pay", 1)
			}
		}, ""},
		"taken over by a fork": {[]string{"pay"}, func(s *situation) {
			f := s.fork(noon.Add(time.Minute))
			s.call(s.run, "1.1", "pay", "")
			s.act(s.run, "1.1", "pay", 1)
			s.call(f, "1.1", "pay", "")
		}, ""},
		"not undone": {[]string{"pay"}, func(s *situation) {
			s.run.status, s.run.actor.fails = history.RunFailed, true
			s.call(s.run, "1.1", "pay", "")
			s.act(s.run, "1.1", "pay", 1)
		}, "stays"},
		"not undone, and its tool says so": {[]string{"pay"}, func(s *situation) {
			s.run.status, s.run.actor.fails = history.RunFailed, true
			s.call(s.run, "1.1", "pay", "")
			s.act(s.run, "1.1", "pay", 1)
			s.undo(api.ErrExecution, noteStays)
		}, ""},
		"undoing refused for load": {[]string{"pay"}, func(s *situation) {
			s.run.status, s.run.actor.fails = history.RunFailed, true
			s.call(s.run, "1.1", "pay", "")
			s.undo(api.ErrQueueFull, "")
		}, "a call to undo was refused"},
		"a sub-agent's call is not undone": {[]string{"clerk"}, func(s *situation) {
			s.call(s.run, "1.1", "clerk", api.ErrExecution).Child = &api.ChildRun{}
			below := s.call(s.run, "1.1", "pay", "")
			below.WorkflowID, below.Path = "s1-a/1.1", "1.1/1.1"
			s.seen.effects = []effect{{Actor: "s1-a", Workflow: "s1-a/1.1", Parent: "1.1",
				Call: "1.1", Tool: "pay", Key: "k", N: []int{900}, at: noon}}
		}, "stays"},
		"an agent fails": {nil, func(s *situation) { s.run.status = history.RunFailed },
			"although its script has an answer"},
		"the server ends it": {nil, func(s *situation) { s.run.status = history.RunTerminated },
			"ended by the server"},
		"too much is spent": {[]string{"spend"}, func(s *situation) {
			s.call(s.run, "1.1", "spend", "")
			s.act(s.run, "1.1", "spend", 1)
			s.seen.effects[0].Amount = spendLimit + 1
		}, "the principal spent"},
		"an instance forgets": {[]string{"tally", "tally"}, func(s *situation) {
			for i, id := range []string{"1.1", "1.2"} {
				r := s.call(s.run, id, "tally", "")
				r.Arguments, _ = json.Marshal(arguments{N: i + 1})
				r.Result = &api.Result{Output: json.RawMessage("[" + id[2:] + "]")}
				r.Scheduled = noon.Add(time.Duration(i) * time.Minute)
				s.act(s.run, id, "tally", i+1)
			}
		}, "lost the completed call 1.1"},
	} {
		s := newSituation(test.tools...)
		test.do(s)
		got := s.evaluate()
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) == 0 ||
			!strings.Contains(strings.Join(got, "\n"), test.want)) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// The answers to clients of a session are compared with the ledger.
func TestEvaluate_ComparesWhatClientsWereTold(t *testing.T) {
	done := &api.CallOutcome{Result: &api.Result{}}
	failed := func(kind api.ErrorType) *api.CallOutcome {
		return &api.CallOutcome{Error: api.Errorf(kind, "failed")}
	}
	for name, test := range map[string]struct {
		intent intent
		acted  []string
		want   string
	}{
		"done":                   {intent{told: done}, []string{"c1"}, ""},
		"done by the repetition": {intent{told: done}, []string{"c2"}, ""},
		"twice":                  {intent{told: done}, []string{"c1", "c2"}, "took effect 2 times"},
		"not at all":             {intent{told: done}, nil, "had no effect"},
		"cancelled and done":     {intent{told: failed(api.ErrCancelled)}, []string{"c1"}, "not done"},
		"unknown":                {intent{told: failed(api.ErrOutcomeUnknown)}, []string{"c1"}, ""},
		"anew": {intent{told: done, anew: true, attached: true}, nil,
			"meant anew"},
	} {
		s := newSituation()
		s.run.actor.kind = sessionActor
		test.intent.session, test.intent.spec = "s1-a", toolNamed("pay")
		test.intent.calls = []string{"c1", "c2"}
		s.intents = []intent{test.intent}
		for _, id := range test.acted {
			s.call(s.run, id, "pay", api.ErrOutcomeUnknown)
			s.act(s.run, id, "pay", 1)
		}
		got := strings.Join(s.evaluate(), "\n")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A scenario is a function of its seed, and a hundred of them use every tool and fault.
func TestScenarios_AreFunctionsOfTheirSeeds(t *testing.T) {
	used := map[string]bool{}
	for seed := range uint64(100) {
		s := newScenario(seed)
		if !reflect.DeepEqual(s, newScenario(seed)) {
			t.Fatalf("seed %d gives two scenarios", seed)
		}
		for _, f := range s.faults {
			used[string(f.kind)] = true
		}
		for _, a := range s.actors {
			for _, turn := range a.turns {
				for _, o := range turn {
					used[o.spec.name] = true
				}
			}
			for _, b := range a.blocks {
				used[string(b.kind)], used[b.order.spec.name] = true, true
			}
		}
	}
	want := []string{string(faultSuspend), string(faultRestart), string(faultKill),
		string(faultStop), string(blockCall), string(blockRepeat), string(blockKey),
		string(blockID), string(blockCancel)}
	for _, t := range tools {
		want = append(want, t.name)
	}
	for _, h := range helpers {
		want = append(want, h.name)
	}
	for _, name := range want {
		if !used[name] {
			t.Errorf("no scenario has %q", name)
		}
	}
}
