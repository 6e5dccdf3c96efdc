package ledger

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
)

// plainBook counts calls by looking at each of them.
type plainBook []ledgerrules.Entry

func (b plainBook) answer(r ledgerrules.Request, now time.Time) (all []ledgerrules.Result) {
	before := slices.IndexFunc(b, func(e ledgerrules.Entry) bool {
		return e.Run == r.Run && e.Call == r.Call && e.Tool == r.Tool && e.Ended.IsZero() &&
			equalArgs(e.Args, r.Args)
	})
	if before < 0 || !r.Record {
		before = len(b)
	}
	others := slices.DeleteFunc(slices.Clone(b[:before]),
		func(e ledgerrules.Entry) bool { return e.Run == r.Run && e.Call == r.Call })
	for _, q := range r.Queries {
		all = append(all, ledgerrules.Ask(others, q, now))
	}
	return all
}

// The running sums answer as a look at each call does: random calls are entered, repeated, changed,
// dropped and ended, expire, and go on in another execution.
func TestBook_AnswersAsALookAtEachCallDoes(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		l := &ledger{book: newBook(nil)}
		now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		for step := range 400 {
			now = now.Add(time.Duration(random.IntN(5)) * time.Minute)
			l.book.expire(now)
			r := randomRequest(random, step)
			plain := plainBook(l.book.entries())
			if random.IntN(2) == 0 && len(plain) > 0 {
				e := plain[random.IntN(len(plain))]
				l.close([]ledgerrules.End{{Run: e.Run, Call: e.Call, Holder: e.Holders[0],
					Made: random.IntN(3) > 0, Dropped: random.IntN(4) == 0}}, now)
				plain = l.book.entries()
			}
			want := plain.answer(r, now)
			if got := l.answer(r, now); !reflect.DeepEqual(got.Results, want) {
				t.Fatalf("seed %d, step %d: %+v is answered with\n%+v, want\n%+v", seed, step, r,
					got, want)
			}
			if random.IntN(40) == 0 {
				l.book = newBook(l.book.entries())
			}
		}
	}
}

func randomRequest(random *rand.Rand, step int) ledgerrules.Request {
	tools := []string{"pay", "give", "lend"}
	r := ledgerrules.Request{Run: fmt.Sprint("run-", random.IntN(20)),
		Call: fmt.Sprint("1.", random.IntN(3)), Tool: tools[random.IntN(3)],
		Holder: fmt.Sprint("h", step), Record: random.IntN(6) > 0,
		Keep: api.Duration([]time.Duration{time.Hour, 3 * time.Hour}[random.IntN(2)]),
		Args: map[string]json.RawMessage{}}
	for _, name := range []string{"amount", "fee"} {
		if random.IntN(3) > 0 {
			r.Args[name] = json.RawMessage(fmt.Sprintf("%d.%d", random.IntN(3), random.IntN(3)))
		}
	}
	for _, kind := range []ledgerrules.Kind{ledgerrules.CountCalls, ledgerrules.SumArguments,
		ledgerrules.ListCalls} {
		q := ledgerrules.Query{Kind: kind, Tools: tools[:random.IntN(3)], Fields: []string{"amount"},
			Within: api.Duration(time.Duration(random.IntN(5)*30) * time.Minute)}
		r.Queries = append(r.Queries, q)
	}
	return r
}

// The bytes of the book are those of its calls, whatever became of others.
func TestBook_KnowsItsSize(t *testing.T) {
	l := &ledger{book: newBook(nil)}
	random, now := rand.New(rand.NewPCG(1, 2)), time.Unix(0, 0)
	for step := range 500 {
		r := randomRequest(random, step)
		l.answer(r, now)
		l.close([]ledgerrules.End{{Run: r.Run, Call: r.Call, Holder: r.Holder,
			Dropped: step%3 == 0, Made: step%2 == 0}}, now)
	}
	want := 0
	for _, e := range l.book.entries() {
		want += size(e)
	}
	if l.book.bytes != want || l.book.size() != len(l.book.entries()) {
		t.Errorf("%d bytes of %d calls, want %d of %d", l.book.bytes, l.book.size(), want,
			len(l.book.entries()))
	}
}

// A request costs about the same with many calls as with few.
func TestBook_CostsTheSameWithManyCalls(t *testing.T) {
	cost := func(calls int) int {
		l, now := &ledger{book: newBook(nil)}, time.Unix(0, 0)
		for i := range calls {
			run := fmt.Sprint("run-", i)
			l.answer(ledgerrules.Request{Run: run, Call: "1", Tool: "pay", Holder: "h", Record: true,
				Keep: api.Duration(time.Hour)}, now)
			l.close([]ledgerrules.End{{Run: run, Call: "1", Holder: "h", Made: true}}, now)
		}
		l.book.work = 0
		l.answer(ledgerrules.Request{Run: "new", Call: "1", Tool: "pay", Holder: "h", Record: true,
			Keep: api.Duration(time.Hour),
			Queries: []ledgerrules.Query{{Kind: ledgerrules.SumArguments,
				Within: api.Duration(time.Hour), Fields: []string{"amount"}}}}, now)
		return l.book.work
	}
	if few, many := cost(10), cost(4000); many > 2*few {
		t.Errorf("a request costs %d with 10 calls and %d with 4,000", few, many)
	}
}
