// Package ledger counts calls for policies over time: the workflow that has the calls of one
// principal or conversation, and the part of a run that tells it what became of its calls.
package ledger

import (
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"go.temporal.io/sdk/workflow"
)

const (
	// idle is the least time for which a ledger without entries waits for another call.
	idle = time.Minute
	// remembered is how long a ledger knows news that can be repeated, and attempts at admission
	// that were given up. A request can arrive that late if no worker answers for the ledger.
	remembered = 5 * time.Minute
	// maxNotes bounds each of these lists.
	maxNotes = 1000
	// maxWork bounds the work of one execution, in microseconds, so that its replay stays far below
	// the 5 s of a workflow task on a slow machine. taskCost is that of a request from outside.
	maxWork  = 200_000
	taskCost = 300
	// maxUpdateWork bounds the work of one update, and maxAnswer the size of its answer.
	maxUpdateWork = 50_000
	maxAnswer     = 512 << 10
)

// Ledger is the workflow that counts the calls of a principal or of a conversation. Admission
// enters the calls that rules ask about with updates, which answer with what the rules need of the
// calls before each. All calls are entered one after the other, so that of two concurrent runs the
// later one sees the call of the earlier one. The workflow evaluates no rule. It ends when it has
// no entries left. The ledger of a principal also adds up what model steps use.
func Ledger(ctx workflow.Context, in api.Packed[ledgerrules.State]) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // a cancelled ledger would forget calls
	l := &ledger{state: in.Value, book: newBook(in.Value.Entries),
		news: workflow.GetSignalChannel(ctx, api.TellLedgerSignal)}
	l.state.Entries = nil
	err := workflow.SetQueryHandler(ctx, api.PrincipalUsageQuery,
		func() (ledgerrules.PrincipalUsage, error) {
			return ledgerrules.PrincipalUsage{Principal: l.state.Of, Auth: l.state.Auth,
				Periods: l.state.Spent}, nil
		})
	if err == nil {
		err = workflow.SetUpdateHandler(ctx, api.ReserveCallsUpdate, l.reserve)
	}
	for err == nil {
		if err = l.wait(ctx); err != nil {
			break
		}
		l.learn(workflow.Now(ctx))
		switch {
		case !l.handledAll(ctx):
		case l.empty():
			return nil
		case l.mustContinue(ctx):
			l.state.Entries = l.book.entries()
			return workflow.NewContinueAsNewError(ctx, api.LedgerWorkflow, api.Pack(l.state))
		}
	}
	return err
}

type ledger struct {
	// state has no entries while the book has them.
	state ledgerrules.State
	book  *book
	// news is what the ledger is told: which calls ended, and what model steps used.
	news workflow.ReceiveChannel
}

// handledAll reports whether the workflow has handled everything that it was sent.
func (l *ledger) handledAll(ctx workflow.Context) bool {
	return l.news.Len() == 0 && workflow.AllHandlersFinished(ctx)
}

// empty reports whether the ledger has nothing to remember.
func (l *ledger) empty() bool {
	return l.book.size()+len(l.state.Spent)+len(l.state.Dropped) == 0
}

// mustContinue reports whether another execution has to go on, because a replay of this one costs
// much.
func (l *ledger) mustContinue(ctx workflow.Context) bool {
	return l.book.work > maxWork || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// wait returns when the execution must continue as new, or when what the ledger has now may have
// expired.
func (l *ledger) wait(ctx workflow.Context) error {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	left := l.retention(workflow.Now(ctx))
	expired := workflow.NewTimerWithOptions(timed, left, workflow.TimerOptions{
		Summary: "the last of the calls is forgotten"})
	for {
		err := workflow.Await(ctx, func() bool {
			return l.news.Len() > 0 || expired.IsReady() || l.mustContinue(ctx) && l.handledAll(ctx)
		})
		if err != nil || expired.IsReady() || l.mustContinue(ctx) {
			return err
		}
		l.learn(workflow.Now(ctx))
	}
}

// retention returns how long the calls, sums and notes are kept at most, if the calls in flight end
// now.
func (l *ledger) retention(now time.Time) time.Duration {
	left := max(idle, l.book.retention(now))
	for _, u := range l.state.Spent {
		_, next := ledgerrules.PeriodBounds(u.Period, u.Start)
		left = max(left, next.Sub(now))
	}
	if n := len(l.state.Dropped); n > 0 {
		left = max(left, remembered-now.Sub(l.state.Dropped[n-1].At))
	}
	return left
}

// learn reads which calls have ended and what model steps used, and forgets what has expired.
func (l *ledger) learn(now time.Time) {
	old := func(n ledgerrules.Note) bool { return now.Sub(n.At) >= remembered }
	l.state.Dropped = slices.DeleteFunc(l.state.Dropped, old)
	l.state.Counted = slices.DeleteFunc(l.state.Counted, old)
	var news ledgerrules.News
	for ; l.news.ReceiveAsync(&news); news = (ledgerrules.News{}) {
		l.book.work += taskCost
		l.close(news.Ends, now)
		l.spend(news, now)
	}
	l.book.expire(now)
	l.state.Spent = slices.DeleteFunc(l.state.Spent,
		func(u ledgerrules.PeriodUsage) bool { return ledgerrules.HasEnded(u, now) })
}

// note remembers an ID.
func note(notes []ledgerrules.Note, id string, now time.Time) []ledgerrules.Note {
	notes = append(notes, ledgerrules.Note{ID: id, At: now})
	return notes[max(0, len(notes)-maxNotes):]
}

// hasNote reports whether an ID is remembered.
func hasNote(notes []ledgerrules.Note, id string) bool {
	return slices.ContainsFunc(notes, func(n ledgerrules.Note) bool { return n.ID == id })
}

// close notes what became of calls. An attempt at admission that is given up is remembered, so that
// its request does not enter a call that no run makes: it may arrive later, or once more.
func (l *ledger) close(ends []ledgerrules.End, now time.Time) {
	for _, end := range ends {
		if entered := l.book.close(end, now); end.Dropped || !entered && !end.Made {
			l.state.Dropped = note(l.state.Dropped, end.Holder, now)
		}
	}
}

// spend adds what model steps used to their periods, once.
func (l *ledger) spend(news ledgerrules.News, now time.Time) {
	if len(news.Used) == 0 || hasNote(l.state.Counted, news.ID) {
		return
	}
	l.state.Counted = note(l.state.Counted, news.ID, now)
	for _, used := range news.Used {
		for _, period := range used.Periods {
			l.add(period, used, now)
		}
	}
}

// add adds what a model step used to the present period.
func (l *ledger) add(period ledgerrules.Period, used ledgerrules.StepUsage, now time.Time) {
	start, _ := ledgerrules.PeriodBounds(period, now)
	i := slices.IndexFunc(l.state.Spent, func(u ledgerrules.PeriodUsage) bool {
		return u.Period == period && u.Start.Equal(start)
	})
	if i < 0 {
		i = len(l.state.Spent)
		l.state.Spent = append(l.state.Spent, ledgerrules.PeriodUsage{Period: period, Start: start})
	}
	l.state.Spent[i].Tokens += used.Tokens
	l.state.Spent[i].Cost += used.Cost
}

// reserve enters calls in their order, and answers each with the results of its queries over the
// calls before it. It answers only the first of them, at least one, if all are too much work for
// one workflow task.
func (l *ledger) reserve(ctx workflow.Context,
	requests []ledgerrules.Request) (answers []ledgerrules.Answer, err error) {
	now := workflow.Now(ctx)
	l.learn(now)
	l.book.work += taskCost
	began, bytes := l.book.work, 0
	for _, r := range requests {
		answer := l.answer(r, now)
		answers = append(answers, answer)
		if bytes += answerSize(answer); bytes > maxAnswer || l.book.work-began > maxUpdateWork {
			break
		}
	}
	return answers, nil
}

// answer enters a call and answers its queries.
func (l *ledger) answer(r ledgerrules.Request, now time.Time) (answer ledgerrules.Answer) {
	l.book.work += requestCost
	l.close(r.Ends, now)
	var entered *call
	if r.Record && !hasNote(l.state.Dropped, r.Holder) {
		if entered, answer.Full = l.book.enter(r, now); answer.Full != "" {
			return answer
		}
	}
	besides := l.book.listExcluded(r, entered)
	for _, q := range r.Queries {
		answer.Results = append(answer.Results, l.book.ask(q, now, besides))
	}
	return answer
}

// callSize is about the size of a listed call as JSON, without its arguments.
const callSize = 150

// answerSize is about the size of an answer as JSON.
func answerSize(a ledgerrules.Answer) int {
	n := callSize
	for _, r := range a.Results {
		for _, c := range r.Calls {
			n += callSize + argsSize(c.Args)
		}
	}
	return n
}
