package lanetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/internal/test/witness"
	"go.temporal.io/sdk/client"
)

// The lanes of TestLimits_AreKept, with their limits; the last two have a queue for each of keys
// keys.
var (
	yardLanes  = []string{"one", "lone", "two", "three", "five", "eight", "phone", "repo"}
	yardLimits = map[string]int{"one": 1, "lone": 1, "two": 2, "three": 3, "five": 5, "eight": 8,
		"phone": 1, "repo": 2}
	keyedLanes = []string{"phone", "repo"}
)

const keys = 50

// yardFile is the lanes.yaml of these lanes.
func yardFile() string {
	var b strings.Builder
	b.WriteString("lanes:\n")
	for _, lane := range yardLanes {
		key := ""
		if slices.Contains(keyedLanes, lane) {
			key = `, key: "{{args.key}}"`
		}
		fmt.Fprintf(&b, "  %s: {limit: %d, lease: 4s%s}\n", lane, yardLimits[lane], key)
	}
	return b.String()
}

// yardTools returns two tools for each lane: one that may run again, and one that must not.
func yardTools() []toolSpec {
	var tools []toolSpec
	for _, lane := range yardLanes {
		tools = append(tools, toolSpec{name: lane, lane: lane, heartbeat: "1s"},
			toolSpec{name: lane + "_once", lane: lane, effect: "once", heartbeat: "1s"})
	}
	return tools
}

// traffic generates calls: the same ones on every machine.
type traffic struct {
	random *rand.Rand
	n      int
}

// next returns an order for a lane's tool: 1 to 40 ms on any key.
func (m *traffic) next() order {
	m.n++
	return order{N: m.n, MS: 1 + m.random.IntN(40), Key: fmt.Sprint("key-", m.random.IntN(keys))}
}

// plan returns a plan of n independent calls over all lanes.
func (m *traffic) plan(n int) api.RunInput {
	var calls []api.PlanCall
	for i := range n {
		calls = append(calls, planCall(fmt.Sprint("c", i), yardLanes[i%len(yardLanes)], m.next()))
	}
	return planOf(calls...)
}

// agent returns an agent that makes calls over all lanes, size at once, in the given number of
// turns; every third must not run twice.
func (m *traffic) agent(turns, size int) api.RunInput {
	var steps []api.ScriptStep
	for range turns {
		var step api.ScriptStep
		for range size {
			o := m.next()
			name := yardLanes[o.N%len(yardLanes)]
			if o.N%3 == 0 {
				name += "_once"
			}
			step.Calls = append(step.Calls, scriptCall(name, o))
		}
		steps = append(steps, step)
	}
	return api.RunInput{Agent: agent(steps...)}
}

// The load of TestLimits_AreKept: 2,000 calls, started over half a minute.
const (
	plans, planCalls             = 24, 50
	agents, agentTurns, turnSize = 16, 5, 10
	calls                        = plans*planCalls + agents*agentTurns*turnSize
	runEvery                     = 800 * time.Millisecond
	killEvery                    = 5 * time.Second
	cutAfter, cutFor             = 7 * time.Second, 10 * time.Second
)

// No lane runs more calls at once than its limit, over four workers of which one is killed every
// five seconds and one is cut off from the server for ten. Every limit is fully used before and
// after. Every call ends exactly once for its caller: with its own result, or as outcome_unknown if
// it must not run twice and its worker was lost.
func TestLimits_AreKept(t *testing.T) {
	l := newLab(t, yardFile(), yardTools()...)
	fmt.Printf("\nto see it, for half a minute: bin/starter lanes --watch --address %s --task-queue %s\n",
		l.Server.Address, base)
	w := newWire(l)
	l.workerAt(w.Address)
	workers := []*testserver.Process{l.worker(), l.worker(), l.worker()}
	l.fill("before")
	began := l.Now()
	runs, killed := l.storm(w, workers)
	for _, run := range runs {
		l.result(run)
	}
	took := l.Now() - began
	l.fill("after")
	spans, _ := l.Spans()
	l.report(witness.Excesses(spans, limits(yardLimits)))
	// Lanes with several holders.
	l.report(witness.Regressions(slices.DeleteFunc(slices.Clone(spans), func(s witness.Span) bool {
		return yardLimits[s.Lane] > 1
	})))
	outcomes := l.count(runs, witness.Executions(spans))
	if got := outcomes.completed + outcomes.unknown; got != calls {
		t.Errorf("%d calls have an outcome, want %d", got, calls)
	}
	if killed < 4 || took < cutAfter+cutFor {
		t.Errorf("all was over after %s, when %d workers had been killed: that is no storm", took,
			killed)
	}
	fmt.Printf("\n%d calls on %d lanes in %.0f s over 4 workers, %d killed and 1 cut off: %d completed, %d of unknown outcome, %d executions\n%s\n",
		calls, len(yardLanes), took.Seconds(), killed, outcomes.completed, outcomes.unknown,
		outcomes.executions, table(spans))
}

// storm starts the runs one after the other while workers are killed and replaced and one is cut
// off, and returns when all have been started and the cut is over.
func (l *lab) storm(w *wire, workers []*testserver.Process) (runs []client.WorkflowRun,
	killed int) {
	l.t.Helper()
	m := &traffic{random: rand.New(rand.NewPCG(1, 2))}
	next, kill := time.NewTicker(runEvery), time.NewTicker(killEvery)
	defer next.Stop()
	defer kill.Stop()
	cut, heal := time.After(cutAfter), time.After(cutAfter+cutFor)
	for len(runs) < plans+agents || heal != nil {
		select {
		case <-next.C:
			switch n := len(runs); {
			case n < plans+agents && n%5 < 3:
				runs = append(runs, l.start(fmt.Sprint("plan-", n), m.plan(planCalls)))
			case n < plans+agents:
				runs = append(runs, l.start(fmt.Sprint("agent-", n), m.agent(agentTurns, turnSize)))
			}
		case <-kill.C:
			workers[killed%len(workers)].Kill()
			workers[killed%len(workers)] = l.worker()
			killed++
		case <-cut:
			w.cut()
		case <-heal:
			w.heal()
			heal = nil
		case <-l.ctx.Done():
			l.t.Fatal("the storm did not end")
		}
	}
	return runs, killed
}

// fill fails unless every lane runs as many calls at once as its limit: it starts calls that wait
// for each other, and lets them continue when the limit is reached.
func (l *lab) fill(gate string) {
	l.t.Helper()
	var calls []api.PlanCall
	for _, lane := range yardLanes {
		for i := range yardLimits[lane] + 1 {
			calls = append(calls, planCall(fmt.Sprint(lane, "-", i), lane,
				order{Gate: gate, Key: "filled"}))
		}
	}
	run := l.plan("fill-"+gate, calls...)
	full := func(spans []witness.Span) bool {
		running := map[string]int{}
		for _, s := range of(spans, run.GetID()) {
			if s.Ending == witness.Running {
				running[witness.Name(s.Lane)]++
			}
		}
		return maps.Equal(running, yardLimits)
	}
	l.await("for every lane to be full", full)
	l.Open(gate)
	l.result(run)
}

// outcomes counts the outcomes of calls.
type outcomes struct{ completed, unknown, executions int }

// count compares every call of the runs with the number of its executions.
func (l *lab) count(runs []client.WorkflowRun, executions map[string][]witness.Span) outcomes {
	l.t.Helper()
	var sum outcomes
	var accounts []string
	for _, run := range runs {
		for id, r := range l.records(run) {
			ran := executions[run.GetID()+"/"+id]
			sum.executions += len(ran)
			switch {
			case r.Status == api.CallCompleted:
				sum.completed++
			case r.Error != nil && r.Error.Type == api.ErrOutcomeUnknown:
				sum.unknown++
			}
			if why := fault(r, len(ran)); why != "" {
				accounts = append(accounts, fmt.Sprintf("%s/%s of %s, %s, %v: %s:\n%s", run.GetID(),
					id, r.Tool, r.Status, r.Error, why, witness.List(ran)))
			}
		}
	}
	l.report(accounts)
	return sum
}

// fault returns what is wrong with the end of a call, given the number of its executions; empty if
// nothing is.
func fault(r api.Record, executions int) string {
	once := strings.HasSuffix(r.Tool, "_once")
	if once && executions > 1 {
		return "it must not run twice"
	}
	if once && r.Error != nil && r.Error.Type == api.ErrOutcomeUnknown {
		return ""
	}
	if r.Status != api.CallCompleted || r.Result == nil {
		return "it did not complete"
	}
	if executions == 0 {
		return "it has a result and never ran"
	}
	var asked, got order
	if json.Unmarshal(r.Arguments, &asked) != nil || json.Unmarshal(r.Result.Output, &got) != nil ||
		asked.N != got.N {
		return fmt.Sprintf("it was called with %s and answered %s", r.Arguments, r.Result.Output)
	}
	return ""
}

// table shows the most calls that each lane ran at once beside its limit; for a keyed one the most
// of any key.
func table(spans []witness.Span) string {
	most, ran, lost := map[string]int{}, map[string]int{}, map[string]int{}
	for lane, peak := range witness.Peaks(spans) {
		most[witness.Name(lane)] = max(most[witness.Name(lane)], peak)
	}
	for _, s := range spans {
		ran[witness.Name(s.Lane)]++
		if s.Ending != witness.Done {
			lost[witness.Name(s.Lane)]++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %-8s %6s %13s %11s %12s\n", "lane", "limit", "most at once", "executions",
		"interrupted")
	for _, lane := range yardLanes {
		fmt.Fprintf(&b, "  %-8s %6d %13d %11d %12d\n", lane, yardLimits[lane], most[lane],
			ran[lane], lost[lane])
	}
	return b.String()
}
