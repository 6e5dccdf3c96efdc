package turn

import (
	"slices"

	"github.com/switchyard/switchyard/api"
)

// Slot is what the scheduler knows of a call: its lane, and whether it may overlap others there.
type Slot struct {
	lane      string
	exclusive bool
}

// NewSlot returns the slot of a call of a tool. key is that of its route: each key of a keyed lane
// is a lane of its own. So is an instance.
func NewSlot(t api.Tool, key string) Slot {
	s := Slot{lane: t.Lane + "/" + key, exclusive: t.Access == api.AccessExclusive}
	if t.Dispatch == api.DispatchInstance {
		s.lane = "instance/" + t.InstanceName()
	}
	return s
}

// Waits returns for each call the indices of the calls that must end before it starts, so that
//   - shared calls of a lane overlap each other,
//   - an exclusive call overlaps no other call of its lane,
//   - conflicting calls keep their order (with parallel_first, shared calls of a lane precede its
//     exclusive ones),
//   - no call waits for anything else.
//
// It is requirement S1 as a pure function.
func Waits(calls []Slot, order api.Order) [][]int {
	out := make([][]int, len(calls))
	lanes := map[string]*laneState{}
	for _, i := range sequence(calls, order) {
		lane := lanes[calls[i].lane]
		if lane == nil {
			lane = &laneState{exclusive: -1}
			lanes[calls[i].lane] = lane
		}
		out[i] = lane.admit(i, calls[i].exclusive)
	}
	return out
}

// PlanWaits joins what the access rules of their lanes make the calls of a plan wait for with the
// calls that each of them needs. Both are earlier calls, so the calls do not wait for each other in
// a cycle.
func PlanWaits(calls []Slot, needs [][]int) [][]int {
	all := Waits(calls, api.OrderAsCalled)
	for i, before := range all {
		known := map[int]bool{}
		joined := make([]int, 0, len(before)+len(needs[i]))
		for _, j := range slices.Concat(before, needs[i]) {
			if !known[j] {
				known[j] = true
				joined = append(joined, j)
			}
		}
		all[i] = joined
	}
	return all
}

// laneState is what the next call of a lane may have to wait for: the last exclusive call, and the
// shared calls since.
type laneState struct {
	exclusive int
	shared    []int
}

func (l *laneState) admit(i int, exclusive bool) []int {
	var before []int
	if l.exclusive >= 0 {
		before = []int{l.exclusive}
	}
	if !exclusive {
		l.shared = append(l.shared, i)
		return before
	}
	if len(l.shared) > 0 {
		// They wait for the last exclusive call themselves.
		before = l.shared
	}
	l.exclusive, l.shared = i, nil
	return before
}

// sequence returns the indices of the calls in the order in which conflicts are decided.
func sequence(calls []Slot, order api.Order) []int {
	var first, last []int
	for i, c := range calls {
		if order == api.OrderParallelFirst && c.exclusive {
			last = append(last, i)
		} else {
			first = append(first, i)
		}
	}
	return append(first, last...)
}
