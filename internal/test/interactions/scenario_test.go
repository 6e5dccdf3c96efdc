package interactions

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
)

// The ways in which an attempt of a tool behaves. The tool acts where the name does not say
// otherwise.
const (
	wayOK         = "ok"
	waySlow       = "slow"        // acts and takes a while
	wayLate       = "late"        // takes a while and acts
	wayHang       = "hang"        // acts and does not return
	wayHangBefore = "hang_before" // neither acts nor returns
	wayPanic      = "panic"       // acts and panics
	wayBadOutput  = "bad_output"  // acts and returns what its schema does not allow
	wayRefuse     = "refuse"      // fails without acting
	wayFlaky      = "flaky"       // fails for the moment without acting
	wayDie        = "die"         // acts, and its worker is killed
	wayDieBefore  = "die_before"  // its worker is killed before it acts
)

// scenario is what is done in one run of the test. It is a function of its seed; when things meet
// depends on the machine.
type scenario struct {
	seed   uint64
	actors []actor
	faults []fault
	// poor is set if the principal has a budget that its runs may use up.
	poor bool
}

// actorKind says who makes the calls of an actor.
type actorKind string

const (
	agentActor   actorKind = "agent"
	planActor    actorKind = "plan"
	sessionActor actorKind = "session"
)

// actor is a run, or a session with its clients.
type actor struct {
	kind actorKind
	name string
	// turns are the calls of an agent by turn; a plan has one.
	turns [][]order
	// fails is set if the script of an agent has no answer: the run fails and undoes its calls.
	fails bool
	// forks are made of an agent's run. A fork may be of an earlier one.
	forks []fork
	// cancel is when the run is cancelled; nil for never.
	cancel *moment
	// blocks are what the clients of a session do: those of a lane one after the other.
	blocks []block
}

// moment is a point of a run: some time after the call number has started, or after the start if
// that is zero.
type moment struct {
	started int
	after   time.Duration
}

// fork starts a run from a point of another one.
type fork struct {
	// of is the index of the run that is forked: 0 is that of the actor, 1 its first fork.
	of int
	at string
	// when is the moment of an open run; nil is after its end.
	when *moment
}

// order is one call: its arguments say how its tool behaves.
type order struct {
	spec  spec
	n     int
	ways  []string
	ms    int
	place string
	// note is "stays" if undoing the effect fails.
	note   string
	amount int
	// last is the number of the last element of a batched call, which begin with n.
	last int
	// after is the index of the earlier call of a plan that this one depends on, plus one.
	after int
}

// numbers returns the elements of a batched call, else the number of the call.
func (o order) numbers() (all []int) {
	for n := o.n; n <= max(o.n, o.last); n++ {
		all = append(all, n)
	}
	return all
}

// arguments returns the arguments of the call.
func (o order) arguments() json.RawMessage {
	if isHelper(o.spec.name) {
		return json.RawMessage(fmt.Sprintf(`{"n":%d}`, o.n))
	}
	in := arguments{Ways: o.ways, MS: o.ms, Place: o.place, Note: o.note, Amount: o.amount}
	if o.spec.batch {
		in.Ns = o.numbers()
	} else {
		in.N = o.n
	}
	text, err := json.Marshal(in)
	if err != nil {
		panic(err) // it has texts and numbers only
	}
	return text
}

// blockKind is what clients of a session do with one call.
type blockKind string

const (
	// blockCall makes a call.
	blockCall blockKind = "call"
	// blockRepeat loses the answer of a call and repeats the call, as a client does whose
	// connection broke.
	blockRepeat blockKind = "repeat"
	// blockKey makes a call twice under one idempotency key, blockID under one ID.
	blockKey blockKind = "key"
	blockID  blockKind = "id"
	// blockCancel cancels a call, and repeats it if it is told that it was cancelled.
	blockCancel blockKind = "cancel"
)

// leaving is when a client tells the session that it is gone.
type leaving string

const (
	leaveNever leaving = ""
	// leaveBefore and leaveAfter are before and after the repetition is submitted.
	leaveBefore leaving = "before"
	leaveAfter  leaving = "after"
	// leaveOther is after the repetition, whose client leaves.
	leaveOther leaving = "other"
)

type block struct {
	kind  blockKind
	order order
	leave leaving
	// again makes the call once more afterwards, on purpose.
	again bool
	// wait is before the call is cancelled or repeated.
	wait moment
	// beside runs the block beside the one before.
	beside bool
}

// faultKind is a fault of a process.
type faultKind string

const (
	faultSuspend faultKind = "server suspended for 1 to 10 s"
	faultRestart faultKind = "server killed and restarted after 1 to 10 s"
	faultKill    faultKind = "worker killed"
	faultStop    faultKind = "worker restarted"
)

// fault happens some time after the start of its scenario, to all that run at the time.
type fault struct {
	kind   faultKind
	after  time.Duration
	length time.Duration
	// worker is which one is concerned.
	worker int
}

// String describes the scenario for whoever replays it.
func (s *scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, principal %s, poor %t\n", s.seed, s.principal(), s.poor)
	for _, a := range s.actors {
		fmt.Fprintf(&b, "%s %s, fails %t, cancelled %+v\n", a.kind, a.name, a.fails, a.cancel)
		for i, turn := range a.turns {
			for j, o := range turn {
				fmt.Fprintf(&b, "  %d.%d %s, after %d\n", i+1, j+1, o, o.after)
			}
		}
		for _, k := range a.blocks {
			fmt.Fprintf(&b, "  %s %s, leave %q, again %t, wait %+v, beside %t\n", k.kind, k.order,
				k.leave, k.again, k.wait, k.beside)
		}
		for _, f := range a.forks {
			fmt.Fprintf(&b, "  fork of run %d at %s, when %+v\n", f.of, f.at, f.when)
		}
	}
	for _, f := range s.faults {
		fmt.Fprintf(&b, "%s after %s for %s\n", f.kind, f.after, f.length)
	}
	return b.String()
}

func (o order) String() string { return o.spec.name + " " + string(o.arguments()) }

// generator makes a scenario.
type generator struct {
	*rand.Rand
	s *scenario
	n int
}

// newScenario returns the scenario of a seed.
func newScenario(seed uint64) *scenario {
	s := &scenario{seed: seed}
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 36)), s: s}
	kinds := []actorKind{agentActor, agentActor, agentActor, planActor, sessionActor, sessionActor}
	for i := range 1 + g.IntN(2) {
		s.actors = append(s.actors, g.actor(kinds[g.IntN(len(kinds))], i))
	}
	s.poor = g.chance(12)
	if g.chance(14) {
		s.faults = append(s.faults, g.fault())
	}
	return s
}

// chance is true in percent of a hundred cases.
func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *generator) upTo(most time.Duration) time.Duration {
	return time.Duration(g.Int64N(int64(most)))
}

func (g *generator) fault() fault {
	kinds := []faultKind{faultSuspend, faultRestart, faultKill, faultKill, faultStop}
	f := fault{kind: kinds[g.IntN(len(kinds))], after: g.upTo(2 * time.Second), worker: g.IntN(2)}
	x := g.Float64()
	f.length = time.Second + time.Duration(9*x*x*x*float64(time.Second))
	return f
}

func (g *generator) actor(kind actorKind, i int) actor {
	a := actor{kind: kind, name: fmt.Sprintf("s%d-%c", g.s.seed, 'a'+i)}
	switch kind {
	case sessionActor:
		for range 1 + g.IntN(3) {
			a.blocks = append(a.blocks, g.block())
		}
		return a
	case planActor:
		turn := g.turn(2 + g.IntN(4))
		for j := range turn {
			if j > 0 && g.chance(30) {
				turn[j].after = 1 + g.IntN(j)
			}
		}
		a.turns = [][]order{turn}
	default:
		for range 1 + g.IntN(3) {
			a.turns = append(a.turns, g.turn(1+g.IntN(3)))
		}
		a.fails = g.chance(30)
		g.forks(&a)
	}
	if g.chance(25) {
		a.cancel = g.moment(a)
	}
	return a
}

// moment returns a point of a run of the actor.
func (g *generator) moment(a actor) *moment {
	m := &moment{after: g.upTo(300 * time.Millisecond)}
	if g.chance(70) {
		turn := a.turns[g.IntN(len(a.turns))]
		if o := turn[g.IntN(len(turn))]; !isHelper(o.spec.name) {
			m.started = o.n
			return m
		}
	}
	m.after = g.upTo(2 * time.Second)
	return m
}

func (g *generator) forks(a *actor) {
	if !g.chance(40) {
		return
	}
	for i := range 1 + g.IntN(2) {
		f := fork{of: g.IntN(i + 1)}
		turn := 1 + g.IntN(len(a.turns))
		f.at = strconv.Itoa(turn)
		if g.chance(40) {
			f.at += fmt.Sprintf(".%d", 1+g.IntN(len(a.turns[turn-1])))
		}
		if g.chance(35) {
			f.when = g.moment(*a)
		}
		a.forks = append(a.forks, f)
	}
}

// turn returns calls that are made together. Some are batched, some equal.
func (g *generator) turn(size int) (calls []order) {
	for len(calls) < size {
		o := g.order(nil)
		calls = append(calls, o)
		if o.spec.batch && g.chance(75) {
			other := o
			other.n = g.number()
			other.last = 0
			calls = append(calls, other)
		} else if !isHelper(o.spec.name) && g.chance(8) {
			calls = append(calls, o)
		}
	}
	return calls
}

func (g *generator) number() int {
	g.n++
	return g.n
}

// helper returns a call of a sub-agent.
func (g *generator) helper() order {
	return order{spec: spec{name: helpers[g.IntN(len(helpers))].name}, n: g.number()}
}

// order returns a call of a tool that fits, of any tool if fits is nil.
func (g *generator) order(fits func(spec) bool) order {
	if fits == nil && g.chance(12) {
		return g.helper()
	}
	t := tools[g.IntN(len(tools))]
	for fits != nil && !fits(t) {
		t = tools[g.IntN(len(tools))]
	}
	o := order{spec: t, n: g.number(), place: fmt.Sprintf("p%d-%d", g.s.seed, g.IntN(2))}
	if t.batch && g.chance(40) {
		o.last = g.number()
	}
	o.ways = g.ways(t)
	if slices.ContainsFunc(o.ways, func(w string) bool { return w == waySlow || w == wayLate }) {
		o.ms = 100 + g.IntN(500)
	}
	if t.spends {
		o.amount = 20 + g.IntN(50)
	}
	if g.chance(5) {
		o.note = noteStays
	}
	return o
}

// noteStays makes the tool that undoes a call fail.
const noteStays = "stays"

// ways returns how the attempts of a call behave; later ones as the last.
func (g *generator) ways(t spec) []string {
	if t.effect == api.EffectRead {
		return []string{[]string{wayOK, wayOK, wayFlaky}[g.IntN(3)], wayOK}
	}
	slow := []string{waySlow}
	if g.chance(30) {
		slow = []string{wayLate}
	}
	if t.lane != "general" && g.chance(50) { // so that others wait for the lane
		return slow
	}
	verified := t.verifier != ""
	switch x := g.IntN(100); {
	case x < 40:
		return []string{wayOK}
	case x < 60:
		return slow
	case x < 61:
		return []string{[]string{wayDie, wayDieBefore}[g.IntN(2)], wayOK}
	case x < 70 || verified && x < 80:
		return []string{wayHang, wayOK}
	case x < 76 || verified && x < 90:
		return []string{wayHangBefore, wayOK}
	case x < 82:
		return []string{wayPanic, wayOK}
	case x < 87:
		return []string{wayBadOutput}
	case x < 93:
		return []string{wayRefuse}
	case x < 97:
		return []string{wayFlaky, wayOK}
	}
	return []string{wayPanic, wayRefuse}
}

// block returns what a client of a session does.
func (g *generator) block() block {
	kinds := []blockKind{blockCall, blockRepeat, blockRepeat, blockKey, blockID, blockCancel,
		blockCancel}
	b := block{kind: kinds[g.IntN(len(kinds))], beside: g.chance(25)}
	b.wait = moment{after: g.upTo(200 * time.Millisecond)}
	if b.kind == blockCall {
		if b.order = g.helper(); g.chance(80) {
			b.order = g.order(func(t spec) bool { return !t.batch })
		}
		return b
	}
	b.order = g.order(func(t spec) bool {
		return t.effect == api.EffectOnce && !t.batch && !t.instance &&
			(!t.approval || g.chance(20))
	})
	if g.chance(70) && b.order.ways[0] == wayOK {
		b.order.ways, b.order.ms = []string{waySlow}, 200+g.IntN(400)
	}
	if b.kind == blockCancel && g.chance(80) {
		b.wait.started = b.order.n
	}
	b.again = g.chance(60)
	b.leave = []leaving{leaveNever, leaveBefore, leaveAfter, leaveAfter, leaveOther}[g.IntN(5)]
	return b
}

// decision returns what a person decides about a call: it depends on the run and the call only.
func (s *scenario) decision(run, call string) api.DecisionKind {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d/%s/%s", s.seed, run, call)
	switch x := h.Sum32() % 100; {
	case x < 55:
		return api.DecisionApprove
	case x < 75:
		return api.DecisionEdit
	}
	return api.DecisionDeny
}

// principal is who starts the runs of the scenario.
func (s *scenario) principal() string { return fmt.Sprintf("p%d", s.seed) }
