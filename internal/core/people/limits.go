package people

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
)

// grantText returns the amounts in words; empty for none.
func grantText(g *api.Grant) string {
	if g == nil {
		return ""
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{g.Turns, "model step"}, {g.Calls, "call"}, {g.Tokens, "token"}} {
		if part.n != 0 {
			parts = append(parts, display.Plural(part.n, "more "+part.what))
		}
	}
	if g.Cost != 0 {
		parts = append(parts, fmt.Sprintf("$%g more", g.Cost))
	}
	if g.WallTime != 0 {
		parts = append(parts, g.WallTime.String()+" more")
	}
	return strings.Join(parts, ", ")
}

func isNegative(g *api.Grant) bool {
	return g != nil && (g.Turns < 0 || g.Calls < 0 || g.Tokens < 0 || g.Cost < 0 || g.WallTime < 0)
}

// ExtendLimits returns the limits with a grant on top of what has been used, or of the limit if
// that is more. Unset limits stay unset. turns and took are what the run has used of turns and wall
// time.
func ExtendLimits(l api.Limits, g api.Grant, u api.Usage, turns int,
	took time.Duration) api.Limits {
	l.Turns = extend(cmp.Or(l.Turns, api.DefaultTurns), turns, g.Turns)
	l.Calls = extend(l.Calls, u.Calls, g.Calls)
	l.Tokens = extend(l.Tokens, u.InputTokens+u.OutputTokens, g.Tokens)
	l.Cost = extend(l.Cost, u.Cost, g.Cost)
	l.WallTime = extend(l.WallTime, api.Duration(took), g.WallTime)
	return l
}

func extend[T int | float64 | api.Duration](limit, used, more T) T {
	if limit == 0 || more == 0 {
		return limit
	}
	return max(limit, used) + more
}

// LimitNeed returns the approval that a run at a limit needs.
func LimitNeed(r api.LimitRequest) api.ApprovalNeed {
	l, u := r.Limits, r.Usage
	lines := []string{fmt.Sprintf("The agent %s has reached its limit of %s. May it use more?",
		r.Agent, r.Limit)}
	add := func(name string, limited bool, used, limit string) {
		if limited {
			lines = append(lines, fmt.Sprintf("%s: %s of %s", name, used, limit))
		}
	}
	add("turns", true, fmt.Sprint(r.Turns), fmt.Sprint(cmp.Or(l.Turns, api.DefaultTurns)))
	add("calls", l.Calls > 0, fmt.Sprint(u.Calls), fmt.Sprint(l.Calls))
	add("tokens", l.Tokens > 0, fmt.Sprint(u.InputTokens+u.OutputTokens), fmt.Sprint(l.Tokens))
	add("cost", l.Cost > 0, fmt.Sprintf("$%.4f", u.Cost), fmt.Sprintf("$%.4f", l.Cost))
	add("wall time", l.WallTime > 0, api.Duration(r.Took.Std().Round(time.Second)).String(),
		l.WallTime.String())
	text := strings.Join(lines, "\n")
	return api.ApprovalNeed{Reason: "the run has reached its limit of " + r.Limit, Limit: r.Limit,
		Text: text,
		Digest: api.ApprovalDigest("", r.Run, api.LimitCall, api.Tool{Name: r.Limit},
			[]byte(fmt.Sprint(r.Asked, " ", text)), nil),
		Within: cmp.Or(l.AskTimeout, api.DefaultApprovalTimeout)}
}
