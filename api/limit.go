package api

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Limits bound a run. Zero is the default where there is one, else no limit.
type Limits struct {
	// Turns bounds model steps; default 50.
	Turns int `json:"turns,omitempty"`
	// Calls bounds tool calls.
	Calls int `json:"calls,omitempty"`
	// Tokens bounds the model's input and output tokens together.
	Tokens int `json:"tokens,omitempty"`
	// Cost bounds the model's cost in US dollars, computed from Model.Price.
	Cost float64 `json:"cost,omitempty"`
	// WallTime bounds the duration of the run; running calls are cancelled when it expires.
	WallTime Duration `json:"wall_time,omitzero"`
	// Repeats bounds equal calls that fail in the same way while nothing changes: the model is
	// warned after that many, and the run ends after as many more. Default 5.
	Repeats int `json:"repeats,omitempty"`
	// OnReached is what happens at a limit; default wrap_up.
	OnReached LimitAction `json:"on_reached,omitempty"`
	// AskTimeout bounds the wait for a person's grant; default DefaultApprovalTimeout.
	AskTimeout Duration `json:"ask_timeout,omitzero"`
}

// DefaultTurns is the default limit of turns.
const DefaultTurns = 50

// LimitAction is what happens when a run reaches a limit.
type LimitAction string

const (
	// LimitWrapsUp, the default, makes one more model step, without tools, that answers with what
	// is known.
	LimitWrapsUp LimitAction = "wrap_up"
	// LimitStops ends the run immediately, without an answer.
	LimitStops LimitAction = "stop"
	// LimitAsks waits for a person to grant more, and wraps up if none is granted. It does not
	// apply to the limits repeats and conversation.
	LimitAsks LimitAction = "ask"
)

// LimitCall replaces the call id while a run waits for a grant.
const LimitCall = "limit"

// Grant is how much more of its limits a run may use. Zero leaves a limit unchanged.
type Grant struct {
	Turns    int      `json:"turns,omitempty"`
	Calls    int      `json:"calls,omitempty"`
	Tokens   int      `json:"tokens,omitempty"`
	Cost     float64  `json:"cost,omitempty"`
	WallTime Duration `json:"wall_time,omitzero"`
}

func (g *Grant) negative() bool {
	return g != nil && (g.Turns < 0 || g.Calls < 0 || g.Tokens < 0 || g.Cost < 0 || g.WallTime < 0)
}

// Of returns the grant for a limit by its name; zero for none, and for limits that cannot be
// granted.
func (g *Grant) Of(limit string) float64 {
	if g == nil {
		return 0
	}
	return map[string]float64{"turns": float64(g.Turns), "calls": float64(g.Calls), "tokens": float64(g.Tokens), "cost": g.Cost,
		"wall_time": float64(g.WallTime)}[limit]
}

// Extended returns the limits with a grant on top of what has been used, or of the limit if that is
// more. Unset limits stay unset. turns and took are what the run has used of turns and wall time.
func (l Limits) Extended(g Grant, u Usage, turns int, took time.Duration) Limits {
	l.Turns = extended(cmp.Or(l.Turns, DefaultTurns), turns, g.Turns)
	l.Calls = extended(l.Calls, u.Calls, g.Calls)
	l.Tokens = extended(l.Tokens, u.InputTokens+u.OutputTokens, g.Tokens)
	l.Cost = extended(l.Cost, u.Cost, g.Cost)
	l.WallTime = extended(l.WallTime, Duration(took), g.WallTime)
	return l
}

func extended[T int | float64 | Duration](limit, used, more T) T {
	if limit == 0 || more == 0 {
		return limit
	}
	return max(limit, used) + more
}

// LimitRequest asks for the question to a person about a run that has reached a limit.
type LimitRequest struct {
	Run    string `json:"run_id"`
	Agent  string `json:"agent"`
	Limit  string `json:"limit"`
	Limits Limits `json:"limits"`
	Usage  Usage  `json:"usage"`
	// Turns and Took are what the run has used of turns and wall time; Asked counts earlier
	// questions.
	Turns int      `json:"turns"`
	Took  Duration `json:"took"`
	Asked int      `json:"asked"`
}

// Need is the answer to the request.
func (r LimitRequest) Need() ApprovalNeed {
	l, u := r.Limits, r.Usage
	lines := []string{fmt.Sprintf("The agent %s has reached its limit of %s. May it use more?", r.Agent, r.Limit)}
	add := func(name string, limited bool, used, limit string) {
		if limited {
			lines = append(lines, fmt.Sprintf("%s: %s of %s", name, used, limit))
		}
	}
	add("turns", true, fmt.Sprint(r.Turns), fmt.Sprint(cmp.Or(l.Turns, DefaultTurns)))
	add("calls", l.Calls > 0, fmt.Sprint(u.Calls), fmt.Sprint(l.Calls))
	add("tokens", l.Tokens > 0, fmt.Sprint(u.InputTokens+u.OutputTokens), fmt.Sprint(l.Tokens))
	add("cost", l.Cost > 0, fmt.Sprintf("$%.4f", u.Cost), fmt.Sprintf("$%.4f", l.Cost))
	add("wall time", l.WallTime > 0, Duration(r.Took.Std().Round(time.Second)).String(), l.WallTime.String())
	text := strings.Join(lines, "\n")
	return ApprovalNeed{Reason: "the run has reached its limit of " + r.Limit, Limit: r.Limit, Text: text,
		Digest: ApprovalDigest("", r.Run, LimitCall, Tool{Name: r.Limit}, []byte(fmt.Sprint(r.Asked, " ", text)), nil),
		Within: cmp.Or(l.AskTimeout, DefaultApprovalTimeout)}
}
