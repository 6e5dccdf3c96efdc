// Package ledgerrules has the rules of ledgers: which calls a query counts, and when a budget is
// spent.
package ledgerrules

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Concerns reports whether the query is about calls of a tool.
func Concerns(q Query, tool string) bool {
	return len(q.Tools) == 0 || slices.Contains(q.Tools, tool)
}

// Counts reports whether the entry counts for a query: calls in flight always do.
func Counts(e Entry, q Query, now time.Time) bool {
	return Concerns(q, e.Tool) && (e.Ended.IsZero() || now.Sub(e.Ended) < q.Within.Std())
}

// ListedCall returns the entry as one of the calls in an answer.
func ListedCall(e Entry, q Query) Call {
	return Call{Run: e.Run, Tool: e.Tool, At: e.Reserved, Args: pick(e.Args, q.Fields),
		Running: e.Ended.IsZero()}
}

// IsExpired reports whether no rule that the call was entered for can ask about it any more. A call
// that does not end within MaxWindow counts as lost.
func IsExpired(e Entry, now time.Time) bool {
	if e.Ended.IsZero() {
		return now.Sub(e.Reserved) >= MaxWindow.Std()
	}
	return now.Sub(e.Ended) >= e.Keep.Std()
}

// Ask answers a query from a list of entries. A ledger itself answers from running sums.
func Ask(entries []Entry, q Query, now time.Time) (r Result) {
	sum := new(big.Rat)
	for _, e := range entries {
		if !Counts(e, q, now) {
			continue
		}
		r.Count++
		switch q.Kind {
		case SumArguments:
			if n, ok := Decimal(e.Args[q.Fields[0]]); ok {
				sum.Add(sum, n)
			}
		case ListCalls:
			r.Calls = append(r.Calls, ListedCall(e, q))
		case CountCalls:
		}
	}
	if q.Kind == SumArguments {
		r.Sum = sum.RatString()
	}
	if len(r.Calls) > MaxCalls {
		return TooManyCalls(len(r.Calls))
	}
	return r
}

// TooManyCalls is the answer to a query for more calls than one answer lists.
func TooManyCalls(n int) Result {
	return Result{Fault: "there are " + strconv.Itoa(n) + " earlier calls, and a rule can " +
		"look at " + strconv.Itoa(MaxCalls) + "; use count or sum, or a shorter window"}
}

func pick(args map[string]json.RawMessage, fields []string) map[string]json.RawMessage {
	some := make(map[string]json.RawMessage, len(fields))
	for _, field := range fields {
		if value, ok := args[field]; ok {
			some[field] = value
		}
	}
	return some
}

// maxNumber bounds the text of a number that is summed.
const maxNumber = 40

// Decimal returns the exact value of a JSON number. It refuses other values, and numbers that are
// too long or too large for exact sums.
func Decimal(value json.RawMessage) (*big.Rat, bool) {
	text := string(value)
	if text == "" || len(text) > maxNumber || !strings.ContainsAny(text[:1], "-0123456789") {
		return nil, false
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		if n, err := strconv.Atoi(exponent); err != nil || n < -maxNumber || n > maxNumber {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}
