// Package ledger counts calls for policies over time: the workflow that has the calls of one
// principal or conversation, and the part of a run that tells it what became of its calls.
package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

const (
	// idle is the least time for which a ledger without entries waits for another call.
	idle = time.Minute
	// repeated bounds the time in which a message about a model step can be repeated, and
	// maxCounted how many of these messages the ledger remembers.
	repeated   = 2 * time.Minute
	maxCounted = 1000
)

// Ledger is the workflow that counts the calls of a principal or of a conversation. Admission
// enters each call that rules ask about with an update, which answers with what the rules need of
// the calls before it. All calls are entered one after the other, so that of two concurrent runs
// the later one sees the call of the earlier one. The workflow evaluates no rule. It ends when it
// has no entries left. The ledger of a principal also adds up what model steps use.
func Ledger(ctx workflow.Context, in api.Packed[api.LedgerState]) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // a cancelled ledger would forget calls
	l := &ledger{state: in.Value, ends: workflow.GetSignalChannel(ctx, api.CloseReservationsSignal),
		used: workflow.GetSignalChannel(ctx, api.CountUsageSignal)}
	for _, e := range l.state.Entries {
		l.bytes += size(e)
	}
	err := workflow.SetQueryHandler(ctx, api.PrincipalUsageQuery,
		func() (api.PrincipalUsage, error) {
			return api.PrincipalUsage{Principal: l.state.Of, Auth: l.state.Auth,
				Periods: l.state.Spent}, nil
		})
	if err == nil {
		err = workflow.SetUpdateHandler(ctx, api.ReserveCallUpdate, l.reserve)
	}
	for err == nil {
		if err = l.wait(ctx); err != nil {
			break
		}
		l.learn(workflow.Now(ctx))
		switch {
		case !l.still(ctx):
		case len(l.state.Entries)+len(l.state.Spent) == 0:
			return nil
		case workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			return workflow.NewContinueAsNewError(ctx, api.LedgerWorkflow, api.Pack(l.state))
		}
	}
	return err
}

type ledger struct {
	state api.LedgerState
	// bytes is about the size of the entries.
	bytes int
	// ends and used are what the ledger is told: which calls ended, and what model steps used.
	ends, used workflow.ReceiveChannel
}

// still reports whether the workflow has handled everything that it was sent.
func (l *ledger) still(ctx workflow.Context) bool {
	return !l.told() && workflow.AllHandlersFinished(ctx)
}

// told reports whether the workflow was told something that it has not read.
func (l *ledger) told() bool { return l.ends.Len()+l.used.Len() > 0 }

// wait returns when the history is long, or when what the ledger has now may have expired.
func (l *ledger) wait(ctx workflow.Context) error {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	expired := workflow.NewTimerWithOptions(timed, l.kept(workflow.Now(ctx)), workflow.TimerOptions{
		Summary: "the last of the calls is forgotten"})
	for {
		err := workflow.Await(ctx, func() bool {
			return l.told() || expired.IsReady() ||
				workflow.GetInfo(ctx).GetContinueAsNewSuggested() && l.still(ctx)
		})
		if err != nil || expired.IsReady() || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return err
		}
		l.learn(workflow.Now(ctx))
	}
}

// kept returns how long the entries and sums are kept at most, if the calls in flight end now.
func (l *ledger) kept(now time.Time) time.Duration {
	left := idle
	for _, e := range l.state.Entries {
		kept := e.Keep.Std()
		if !e.Ended.IsZero() {
			kept -= now.Sub(e.Ended)
		}
		left = max(left, kept)
	}
	for _, u := range l.state.Spent {
		_, next := u.Period.Bounds(u.Start)
		left = max(left, next.Sub(now))
	}
	return left
}

// learn reads which calls have ended and what model steps used, and forgets what has expired.
func (l *ledger) learn(now time.Time) {
	var calls []api.ReservationEnd
	for ; l.ends.ReceiveAsync(&calls); calls = nil {
		l.close(calls, now)
	}
	l.drop(func(e *api.LedgerEntry) bool { return e.Expired(now) })
	var used api.StepUsage
	for ; l.used.ReceiveAsync(&used); used = (api.StepUsage{}) {
		l.spend(used, now)
	}
	l.state.Spent = slices.DeleteFunc(l.state.Spent,
		func(u api.PeriodUsage) bool { return u.Over(now) })
}

// spend adds what a model step used to its periods, once.
func (l *ledger) spend(used api.StepUsage, now time.Time) {
	l.state.Counted = slices.DeleteFunc(l.state.Counted,
		func(c api.CountedStep) bool { return now.Sub(c.At) > repeated })
	if slices.ContainsFunc(l.state.Counted,
		func(c api.CountedStep) bool { return c.ID == used.ID }) {
		return
	}
	counted := append(l.state.Counted, api.CountedStep{ID: used.ID, At: now})
	l.state.Counted = counted[max(0, len(counted)-maxCounted):]
	for _, period := range used.Periods {
		start, _ := period.Bounds(now)
		i := slices.IndexFunc(l.state.Spent, func(u api.PeriodUsage) bool {
			return u.Period == period && u.Start.Equal(start)
		})
		if i < 0 {
			i = len(l.state.Spent)
			l.state.Spent = append(l.state.Spent, api.PeriodUsage{Period: period, Start: start})
		}
		l.state.Spent[i].Tokens += used.Tokens
		l.state.Spent[i].Cost += used.Cost
	}
}

func (l *ledger) drop(over func(*api.LedgerEntry) bool) {
	entries := l.state.Entries[:0]
	for i := range l.state.Entries {
		e := &l.state.Entries[i]
		if over(e) {
			l.bytes -= size(*e)
			continue
		}
		entries = append(entries, *e)
	}
	clear(l.state.Entries[len(entries):])
	l.state.Entries = entries
}

// close notes what became of calls. A call can have several entries, if several attempts at its
// admission had other arguments. The one whose decision was used counts.
func (l *ledger) close(calls []api.ReservationEnd, now time.Time) {
	for _, c := range calls {
		l.drop(func(e *api.LedgerEntry) bool {
			holds := slices.Contains(e.Holders, c.Holder)
			switch {
			case !e.Is(c.Run, c.Call):
			case c.Dropped:
				e.Holders = slices.DeleteFunc(e.Holders, func(h string) bool {
					return h == c.Holder
				})
				return len(e.Holders) == 0
			case !holds || !c.Made:
				return true
			case e.Ended.IsZero():
				e.Ended = now
			}
			return false
		})
	}
}

// reserve enters a call and answers with the results of its queries over the calls before it.
func (l *ledger) reserve(ctx workflow.Context, r api.LedgerRequest) (api.LedgerAnswer, error) {
	now := workflow.Now(ctx)
	l.learn(now)
	l.close(r.Ends, now)
	before := len(l.state.Entries)
	if r.Record {
		at, full := l.enter(r, now)
		if full != "" {
			return api.LedgerAnswer{Full: full}, nil
		}
		before = at
	}
	// The call does not count for itself, whatever arguments it was entered with.
	others := slices.DeleteFunc(slices.Clone(l.state.Entries[:before]),
		func(e api.LedgerEntry) bool { return e.Is(r.Run, r.Call) })
	var answer api.LedgerAnswer
	for _, q := range r.Queries {
		answer.Results = append(answer.Results, api.AskLedger(others, q, now))
	}
	return answer, nil
}

// enter returns the index of the entry of a call. A repeated request finds the entry of the first
// one. A request with other arguments, of an approval that changed them or of a model that was
// asked again, makes another entry.
func (l *ledger) enter(r api.LedgerRequest, now time.Time) (at int, full string) {
	entry := api.LedgerEntry{Run: r.Run, Call: r.Call, Tool: r.Tool, Reserved: now, Keep: r.Keep,
		Args: r.Args, Holders: []string{r.Holder}}
	for i := range l.state.Entries {
		e := &l.state.Entries[i]
		if e.Is(r.Run, r.Call) && e.Tool == r.Tool && e.Ended.IsZero() && same(e.Args, r.Args) {
			if !slices.Contains(e.Holders, r.Holder) {
				e.Holders = append(e.Holders, r.Holder)
			}
			e.Keep = max(e.Keep, r.Keep)
			return i, ""
		}
	}
	if n := len(l.state.Entries); n >= api.MaxLedgerEntries || l.bytes+
		size(entry) > api.MaxLedgerBytes {
		return 0, fmt.Sprintf("it counts %d calls in %d KiB and takes no more; it may count %d in "+
			"%d KiB. Give the rules a shorter window, or fewer tools and arguments to ask about",
			n, l.bytes>>10, api.MaxLedgerEntries, api.MaxLedgerBytes>>10)
	}
	l.state.Entries = append(l.state.Entries, entry)
	l.bytes += size(entry)
	return len(l.state.Entries) - 1, ""
}

func same(a, b map[string]json.RawMessage) bool {
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

// overhead is about the size of an entry without its names and arguments, as JSON.
const overhead = 200

// size is about the size of an entry as JSON.
func size(e api.LedgerEntry) int {
	n := overhead + len(e.Tool) + len(e.Call)
	for _, name := range slices.Sorted(maps.Keys(e.Args)) {
		n += len(name) + len(e.Args[name])
	}
	return n
}
