package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
)

// book has the calls of a ledger. It answers from running counts and sums per tool, so that a
// request costs about the same with 5,000 calls as with ten: a replay repeats all requests of an
// execution, and has to end within the timeout of one workflow task.
type book struct {
	// calls are in the order of their reservations, also those that are gone, until there are many.
	calls []*call
	gone  int
	byID  map[callID][]*call
	// groups are the calls by tool and by how long they are kept.
	groups []*group
	// bytes is about the size of the entries.
	bytes int
	// work counts what requests cost, in about microseconds of a replay.
	work int
}

type callID struct{ run, call string }

// call is an entry.
type call struct {
	ledgerrules.Entry
	// nth is its place in the order of reservations.
	nth     int
	group   *group
	numbers []number
	// upTo are the sums of the ended calls of the group, up to this one.
	upTo sums
	gone bool
}

// number is an argument of a call that can be added up.
type number struct {
	name  string
	value *big.Rat
}

// sums are exact sums by argument. They are never changed, so that calls can share them.
type sums map[string]*big.Rat

var zero = new(big.Rat)

// of returns the sum of an argument.
func (s sums) of(name string) *big.Rat {
	if sum, ok := s[name]; ok {
		return sum
	}
	return zero
}

// plus returns the sums with numbers added.
func (s sums) plus(all []number) sums {
	if len(all) == 0 {
		return s
	}
	next := maps.Clone(s)
	if next == nil {
		next = sums{}
	}
	for _, n := range all {
		next[n.name] = new(big.Rat).Add(next.of(n.name), n.value)
	}
	return next
}

// group are the calls of one tool that are kept equally long. They expire in the order in which
// they ended, so that what is left of them is a difference of two sums.
type group struct {
	tool string
	keep api.Duration
	// running are the calls in flight in the order of their reservations, with their sums.
	running     []*call
	runningSums sums
	// ended are the others in the order of their ends. expired are the sums of those before them.
	ended   []*call
	expired sums
}

// costs of a request, in microseconds: of each one, each of its questions, and of each end of a
// call. Looking at a call costs one.
const (
	requestCost  = 20
	questionCost = 5
	endCost      = 5
)

// newBook returns a book with the entries of an earlier execution.
func newBook(entries []ledgerrules.Entry) *book {
	b := &book{byID: map[callID][]*call{}}
	for _, e := range entries {
		b.add(e)
	}
	over := slices.DeleteFunc(slices.Clone(b.calls),
		func(c *call) bool { return c.Ended.IsZero() })
	slices.SortStableFunc(over, func(x, y *call) int { return x.Ended.Compare(y.Ended) })
	for _, c := range over {
		c.group.stop(c)
	}
	return b
}

// entries returns all entries in the order of their reservations.
func (b *book) entries() (all []ledgerrules.Entry) {
	for _, c := range b.calls {
		if !c.gone {
			all = append(all, c.Entry)
		}
	}
	return all
}

// size returns the number of calls.
func (b *book) size() int { return len(b.calls) - b.gone }

// add appends a call, as one that is in flight.
func (b *book) add(e ledgerrules.Entry) *call {
	c := &call{Entry: e}
	if n := len(b.calls); n > 0 {
		c.nth = b.calls[n-1].nth + 1
	}
	for _, name := range slices.Sorted(maps.Keys(e.Args)) {
		if value, ok := ledgerrules.Decimal(e.Args[name]); ok {
			c.numbers = append(c.numbers, number{name, value})
		}
	}
	b.calls = append(b.calls, c)
	b.bytes += size(e)
	id := callID{e.Run, e.Call}
	b.byID[id] = append(b.byID[id], c)
	b.ensureGroup(e.Tool, e.Keep).begin(c)
	return c
}

func (b *book) ensureGroup(tool string, keep api.Duration) *group {
	i := slices.IndexFunc(b.groups,
		func(g *group) bool { return g.tool == tool && g.keep == keep })
	if i < 0 {
		i, b.groups = len(b.groups), append(b.groups, &group{tool: tool, keep: keep})
	}
	return b.groups[i]
}

// place returns where a call is among calls in the order of their reservations.
func place(calls []*call, c *call) int {
	i, _ := slices.BinarySearchFunc(calls, c.nth, func(c *call, nth int) int { return c.nth - nth })
	return i
}

// begin adds a call that is in flight.
func (g *group) begin(c *call) {
	c.group = g
	g.running = slices.Insert(g.running, place(g.running, c), c)
	g.runningSums = g.runningSums.plus(c.numbers)
}

// leave removes a call that is in flight.
func (g *group) leave(c *call) {
	i := place(g.running, c)
	g.running = slices.Delete(g.running, i, i+1)
	negative := make([]number, len(c.numbers))
	for i, n := range c.numbers {
		negative[i] = number{n.name, new(big.Rat).Neg(n.value)}
	}
	g.runningSums = g.runningSums.plus(negative)
}

// stop moves a call in flight to the ended ones.
func (g *group) stop(c *call) {
	g.leave(c)
	c.upTo = g.before(len(g.ended)).plus(c.numbers)
	g.ended = append(g.ended, c)
}

// before returns the sums of the calls that ended before the ith.
func (g *group) before(i int) sums {
	if i == 0 {
		return g.expired
	}
	return g.ended[i-1].upTo
}

// since returns the index of the first ended call that counts in a window.
func (g *group) since(within api.Duration, now time.Time) int {
	i, _ := slices.BinarySearchFunc(g.ended, within.Std(),
		func(c *call, window time.Duration) int {
			if now.Sub(c.Ended) >= window {
				return -1
			}
			return 1
		})
	return i
}

// sum returns the sum of an argument over the calls in flight and the ended ones from the ith on.
func (g *group) sum(name string, from int) *big.Rat {
	sum := new(big.Rat).Sub(g.before(len(g.ended)).of(name), g.before(from).of(name))
	return sum.Add(sum, g.runningSums.of(name))
}

// forget removes an ended call and returns how many calls it looked at.
func (g *group) forget(c *call) int {
	i := slices.Index(g.ended, c)
	g.ended = slices.Delete(g.ended, i, i+1)
	for n, later := range g.ended[i:] {
		later.upTo = g.before(i + n).plus(later.numbers)
	}
	return len(g.ended)
}

// remove removes a call.
func (b *book) remove(c *call) {
	if c.Ended.IsZero() {
		c.group.leave(c)
	} else {
		b.work += c.group.forget(c)
	}
	b.lose(c)
}

// lose removes a call that its group has lost.
func (b *book) lose(c *call) {
	c.gone, c.group = true, nil
	b.bytes -= size(c.Entry)
	id := callID{c.Run, c.Call}
	if b.byID[id] = slices.DeleteFunc(b.byID[id],
		func(other *call) bool { return other == c }); len(b.byID[id]) == 0 {
		delete(b.byID, id)
	}
	if b.gone++; b.gone > len(b.calls)/2 {
		b.calls = slices.DeleteFunc(b.calls, func(c *call) bool { return c.gone })
		b.gone = 0
	}
}

// expire removes the calls that no rule can ask about any more.
func (b *book) expire(now time.Time) {
	for _, g := range b.groups {
		for len(g.ended) > 0 && ledgerrules.IsExpired(g.ended[0].Entry, now) {
			c := g.ended[0]
			g.expired, g.ended = c.upTo, g.ended[1:]
			b.lose(c)
		}
		if len(g.ended) == 0 {
			g.expired = nil
		}
	}
	for _, c := range b.overdue(now) {
		b.remove(c)
	}
	b.groups = slices.DeleteFunc(b.groups,
		func(g *group) bool { return len(g.running)+len(g.ended) == 0 })
}

// overdue returns the calls whose end is not reported any more.
func (b *book) overdue(now time.Time) (all []*call) {
	for _, c := range b.calls {
		if now.Sub(c.Reserved) < ledgerrules.MaxWindow.Std() {
			break
		}
		b.work++
		if !c.gone && ledgerrules.IsExpired(c.Entry, now) {
			all = append(all, c)
		}
	}
	return all
}

// retention returns how long the calls are kept at most, if those in flight end now.
func (b *book) retention(now time.Time) (left time.Duration) {
	for _, g := range b.groups {
		switch n := len(g.ended); {
		case len(g.running) > 0:
			left = max(left, g.keep.Std())
		case n > 0:
			left = max(left, g.keep.Std()-now.Sub(g.ended[n-1].Ended))
		}
	}
	return left
}

// close notes what became of a call, and reports whether the attempt at its admission has entered
// it. A call can have several entries, if several attempts had other arguments. The one whose
// decision was used counts.
func (b *book) close(end ledgerrules.End, now time.Time) (entered bool) {
	b.work += endCost
	for _, c := range slices.Clone(b.byID[callID{end.Run, end.Call}]) {
		holds := slices.Contains(c.Holders, end.Holder)
		entered = entered || holds
		switch {
		case end.Dropped:
			b.setHolders(c, slices.DeleteFunc(slices.Clone(c.Holders),
				func(h string) bool { return h == end.Holder }))
			if len(c.Holders) == 0 {
				b.remove(c)
			}
		case !holds || !end.Made:
			b.remove(c)
		case c.Ended.IsZero():
			c.Ended = now
			c.group.stop(c)
		}
	}
	return entered
}

// setHolders sets the attempts that have entered a call.
func (b *book) setHolders(c *call, holders []string) {
	b.bytes -= size(c.Entry)
	c.Holders = holders
	b.bytes += size(c.Entry)
}

// maxHolders bounds the attempts that an entry names. A run uses the decision of the last one,
// except if a worker was lost while it decided.
const maxHolders = 8

// enter returns the entry of a call. A repeated request finds the entry of the first one. A
// request with other arguments, of an approval that changed them or of a model that was asked
// again, makes another entry. full is why the call is not entered.
func (b *book) enter(r ledgerrules.Request, now time.Time) (c *call, full string) {
	for _, c := range b.byID[callID{r.Run, r.Call}] {
		if c.Tool != r.Tool || !c.Ended.IsZero() || !equalArgs(c.Args, r.Args) {
			continue
		}
		if !slices.Contains(c.Holders, r.Holder) {
			holders := append(slices.Clone(c.Holders), r.Holder)
			b.setHolders(c, holders[max(0, len(holders)-maxHolders):])
		}
		if r.Keep > c.Keep {
			c.group.leave(c)
			c.Keep = r.Keep
			b.ensureGroup(c.Tool, c.Keep).begin(c)
		}
		return c, ""
	}
	entry := ledgerrules.Entry{Run: r.Run, Call: r.Call, Tool: r.Tool, Reserved: now, Keep: r.Keep,
		Args: r.Args, Holders: []string{r.Holder}}
	if n := b.size(); n >= ledgerrules.MaxEntries || b.bytes+size(entry) > ledgerrules.MaxBytes {
		return nil, fmt.Sprintf("it counts %d calls in %d KiB and takes no more; it may count %d "+
			"in %d KiB. Give the rules a shorter window, or fewer tools and arguments to ask about",
			n, b.bytes>>10, ledgerrules.MaxEntries, ledgerrules.MaxBytes>>10)
	}
	return b.add(entry), ""
}

// listExcluded returns the calls that do not count for a request: those of the call itself,
// whatever
// arguments it was entered with, and those that were entered after it, if it is not the last.
func (b *book) listExcluded(r ledgerrules.Request, entered *call) []*call {
	others := slices.Clone(b.byID[callID{r.Run, r.Call}])
	if entered == nil {
		return others
	}
	for _, c := range b.calls[place(b.calls, entered)+1:] {
		b.work++
		if !c.gone && (c.Run != r.Run || c.Call != r.Call) {
			others = append(others, c)
		}
	}
	return others
}

// ask answers a question about all calls except some.
func (b *book) ask(q ledgerrules.Query, now time.Time, besides []*call) (r ledgerrules.Result) {
	besides = slices.DeleteFunc(slices.Clone(besides),
		func(c *call) bool { return !ledgerrules.Counts(c.Entry, q, now) })
	b.work += questionCost + len(b.groups) + len(besides)
	r.Count = -len(besides)
	sum := new(big.Rat)
	for _, g := range b.groups {
		if !ledgerrules.Concerns(q, g.tool) {
			continue
		}
		from := g.since(q.Within, now)
		r.Count += len(g.running) + len(g.ended) - from
		if q.Kind == ledgerrules.SumArguments {
			sum.Add(sum, g.sum(q.Fields[0], from))
		}
	}
	switch q.Kind {
	case ledgerrules.SumArguments:
		r.Sum = subtract(sum, q.Fields[0], besides).RatString()
	case ledgerrules.ListCalls:
		if r.Count > ledgerrules.MaxCalls {
			return ledgerrules.TooManyCalls(r.Count)
		}
		r.Calls = b.past(q, now, besides)
	case ledgerrules.CountCalls:
	}
	return r
}

// subtract returns a sum without the argument of some calls.
func subtract(sum *big.Rat, name string, calls []*call) *big.Rat {
	for _, c := range calls {
		for _, n := range c.numbers {
			if n.name == name {
				sum.Sub(sum, n.value)
			}
		}
	}
	return sum
}

// past lists the calls that count for a question, except some, in the order of their reservations.
func (b *book) past(q ledgerrules.Query, now time.Time, besides []*call) (list []ledgerrules.Call) {
	var calls []*call
	for _, g := range b.groups {
		if ledgerrules.Concerns(q, g.tool) {
			calls = append(calls, g.running...)
			calls = append(calls, g.ended[g.since(q.Within, now):]...)
		}
	}
	b.work += len(calls)
	slices.SortFunc(calls, func(x, y *call) int { return x.nth - y.nth })
	slices.SortFunc(besides, func(x, y *call) int { return x.nth - y.nth })
	for _, c := range calls {
		if i := place(besides, c); i == len(besides) || besides[i] != c {
			list = append(list, ledgerrules.ListedCall(c.Entry, q))
		}
	}
	return list
}

func equalArgs(a, b map[string]json.RawMessage) bool {
	if len(a) != len(b) {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if other, ok := b[name]; !ok || string(other) != string(a[name]) {
			return false
		}
	}
	return true
}

// overhead is about the size of an entry without its names, arguments and holders, as JSON, and
// holderSize that of one holder.
const (
	overhead   = 170
	holderSize = 30
)

// size is about the size of an entry as JSON.
func size(e ledgerrules.Entry) int {
	return overhead + len(e.Tool) + len(e.Call) + holderSize*len(e.Holders) + argsSize(e.Args)
}

func argsSize(args map[string]json.RawMessage) (n int) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		n += len(name) + len(args[name])
	}
	return n
}
