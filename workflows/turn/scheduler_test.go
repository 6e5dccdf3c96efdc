package turn

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/planrules"
	"pgregory.net/rapid"
)

// maxInFlight bounds the calls that run at a time.
const maxInFlight = 500

// ran is when a simulated call ran, in steps of a clock.
type ran struct{ start, end int }

// simulate runs calls that wait for each other in virtual time, at most limit at once, each for its
// duration. It fails if the queue deadlocks or starts a call twice.
func simulate(t *rapid.T, waits [][]int, durations []int, limit int) []ran {
	q := NewQueue(waits)
	times := make([]ran, len(waits))
	started := make([]bool, len(waits))
	var running []int
	now := 0
	for {
		for _, i := range q.Take(limit) {
			if started[i] {
				t.Fatalf("call %d was started twice", i)
			}
			started[i] = true
			times[i] = ran{now, now + durations[i]}
			running = append(running, i)
		}
		if len(running) != q.Running || len(running) > limit {
			t.Fatalf("%d calls run, the queue counts %d, the limit is %d", len(running), q.Running,
				limit)
		}
		if len(running) == 0 {
			break
		}
		next := slices.MinFunc(running, func(a, b int) int { return times[a].end - times[b].end })
		now = times[next].end
		running = slices.DeleteFunc(running, func(i int) bool { return i == next })
		q.End(next)
	}
	if i := slices.Index(started, false); i >= 0 {
		t.Fatalf("call %d never ran: it waits for %v", i, waits[i])
	}
	return times
}

func drawSlots(t *rapid.T) []Slot {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Slot {
		return Slot{lane: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "lane"),
			exclusive: rapid.Bool().Draw(t, "exclusive")}
	}), 0, 24).Draw(t, "calls")
}

// drawDurations draws one duration per call; zero ends a call in the moment it starts.
func drawDurations(t *rapid.T, n int) []int {
	return rapid.SliceOfN(rapid.IntRange(0, 20), n, n).Draw(t, "durations")
}

func conflict(a, b Slot) bool { return a.lane == b.lane && (a.exclusive || b.exclusive) }

// comesFirst reports whether call i of two conflicting calls has to run before j.
func comesFirst(calls []Slot, i, j int, order api.Order) bool {
	if order == api.OrderParallelFirst && calls[i].exclusive != calls[j].exclusive {
		return calls[j].exclusive
	}
	return i < j
}

// Requirement S1 on random turns in virtual time: no two conflicting calls overlap, they run in
// their order, and a call starts at the moment in which the last conflicting call before it has
// ended.
func TestTurnOrder_RunsConflictingCallsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := drawSlots(t)
		order := rapid.SampledFrom([]api.Order{"", api.OrderAsCalled,
			api.OrderParallelFirst}).Draw(t, "order")
		times := simulate(t, Waits(calls, order), drawDurations(t, len(calls)), maxInFlight)
		for j := range calls {
			earliest := 0
			for i := range calls {
				if i != j && conflict(calls[i], calls[j]) && comesFirst(calls, i, j, order) {
					earliest = max(earliest, times[i].end)
				}
			}
			if times[j].start != earliest {
				t.Fatalf("call %d %+v starts at %d, its earlier conflicts end at %d", j, calls[j],
					times[j].start, earliest)
			}
		}
	})
}

// A bound on calls in flight neither deadlocks nor changes the order, and calls wait for it only
// while it is reached.
func TestTurnOrder_UnderALimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := drawSlots(t)
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		times := simulate(t, Waits(calls, ""), drawDurations(t, len(calls)), limit)
		for j := range calls {
			ready := 0
			for i := range j {
				if conflict(calls[i], calls[j]) {
					ready = max(ready, times[i].end)
				}
			}
			if times[j].start < ready {
				t.Fatalf("call %d starts at %d, before its earlier conflicts end at %d", j,
					times[j].start, ready)
			}
			for now := ready; now < times[j].start; now++ {
				busy := 0
				for _, r := range times {
					if r.start <= now && now < r.end {
						busy++
					}
				}
				if busy < limit {
					t.Fatalf("call %d waits at %d though only %d of %d calls run", j, now, busy,
						limit)
				}
			}
		}
	})
}

// A plan's calls run after what they need and never overlap if they conflict. Both rules cannot
// deadlock, in any order of the file, and nothing waits for anything else.
func TestPlanOrder_RunsDependenciesFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := drawSlots(t)
		plan := drawPlan(t, slots)
		if problems := planrules.Check(plan); len(slots) > 0 && len(problems) > 0 {
			t.Fatalf("the plan is not valid: %v", problems)
		}
		calls := planrules.Sort(plan)
		sorted, needs, index := make([]Slot, len(calls)), make([][]int, len(calls)),
			map[string]int{}
		for i, c := range calls {
			index[c.ID] = i
			var at int
			if _, err := fmt.Sscanf(c.Tool, "tool%d", &at); err != nil {
				t.Fatal(err)
			}
			sorted[i] = slots[at]
			for _, need := range planrules.Needs(c) {
				needs[i] = append(needs[i], index[need])
			}
		}
		times := simulate(t, PlanWaits(sorted, needs), drawDurations(t, len(slots)), maxInFlight)
		for j, c := range calls {
			earliest := 0
			for i, before := range calls {
				needed := slices.Contains(planrules.Needs(c), before.ID)
				earlier := i < j && conflict(sorted[i], sorted[j])
				if needed || earlier {
					earliest = max(earliest, times[i].end)
				}
			}
			if times[j].start != earliest {
				t.Fatalf("call %s starts at %d, what it needs and conflicts with ends at %d", c.ID,
					times[j].start, earliest)
			}
		}
	})
}

// drawPlan draws a plan without cycles: calls need only calls with a lower index, and are written
// in any order.
func drawPlan(t *rapid.T, slots []Slot) api.Plan {
	var plan api.Plan
	for priority := range slots {
		c := api.PlanCall{ID: fmt.Sprint("c", priority), Tool: fmt.Sprint("tool", priority)}
		if priority > 0 {
			for _, need := range rapid.SliceOfNDistinct(rapid.IntRange(0, priority-1), 0,
				min(priority, 3), rapid.ID[int]).Draw(t, "needs") {
				c.DependsOn = append(c.DependsOn, fmt.Sprint("c", need))
			}
		}
		plan.Calls = append(plan.Calls, c)
	}
	plan.Calls = rapid.Permutation(plan.Calls).Draw(t, "written")
	return plan
}

// No call becomes ready when running calls end.
func TestQueue_StopsAfterAFailureToStart(t *testing.T) {
	q := NewQueue([][]int{nil, {0}, nil})
	if got := q.Take(1); !slices.Equal(got, []int{0}) {
		t.Fatalf("took %v", got)
	}
	if got := q.Take(2); !slices.Equal(got, []int{2}) {
		t.Fatalf("took %v", got)
	}
	q.Abandon(1)
	q.End(0)
	if got := q.Take(10); len(got) != 0 || q.Running != 0 {
		t.Errorf("took %v after a failure, %d run", got, q.Running)
	}
}

// Exclusive calls of one key keep their order, those of two overlap.
func TestKeys_AreSeparateLanes(t *testing.T) {
	phone := api.Tool{Name: "phone", Lane: "phone", Access: api.AccessExclusive}
	got := Waits([]Slot{NewSlot(phone, "red"), NewSlot(phone, "blue"), NewSlot(phone, "red"),
		NewSlot(phone, "blue")}, api.OrderAsCalled)
	if want := [][]int{nil, nil, {0}, {1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the calls wait for %v, want %v", got, want)
	}
}
