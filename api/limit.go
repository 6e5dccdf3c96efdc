package api

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Limits bound a run. Zero means the default where one is named, else no limit.
type Limits struct {
	// Turns bounds model steps; default 50.
	Turns int `json:"turns,omitempty"`
	// Calls bounds tool calls.
	Calls int `json:"calls,omitempty"`
	// Tokens bounds the model's input and output tokens together.
	Tokens int `json:"tokens,omitempty"`
	// Cost bounds the model's cost in US dollars, by Model.Price.
	Cost float64 `json:"cost,omitempty"`
	// WallTime bounds the run's duration; running calls are cancelled when it ends.
	WallTime Duration `json:"wall_time,omitzero"`
	// Repeats bounds equal calls that fail in the same way while nothing changes: at so many the model is told, at so many
	// more the run ends. Default 5.
	Repeats int `json:"repeats,omitempty"`
	// OnReached is what comes of a limit that is reached; default wrap_up.
	OnReached LimitAction `json:"on_reached,omitempty"`
	// AskTimeout is how long a person who is asked for more may take; default DefaultApprovalTimeout.
	AskTimeout Duration `json:"ask_timeout,omitzero"`
}

// DefaultTurns is the limit of turns where an agent names none.
const DefaultTurns = 50

// LimitAction is what comes of a limit that a run has reached.
type LimitAction string

const (
	// LimitWrapsUp makes one more model step, without tools, that answers with what is known. It is the default.
	LimitWrapsUp LimitAction = "wrap_up"
	// LimitStops ends the run at once, without an answer.
	LimitStops LimitAction = "stop"
	// LimitAsks waits for a person who grants the run more, or does not: then it wraps up. Nobody is asked about the limits
	// repeats and conversation.
	LimitAsks LimitAction = "ask"
)

// LimitCall stands in place of a call's id where a run that has reached a limit waits for a person.
const LimitCall = "limit"

// Grant is how much more of its limits a run may use. What is zero stays as it is.
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

// Of returns how much the grant has of a limit, by its name; zero for none and for a limit of which nothing can be granted.
func (g *Grant) Of(limit string) float64 {
	if g == nil {
		return 0
	}
	return map[string]float64{"turns": float64(g.Turns), "calls": float64(g.Calls), "tokens": float64(g.Tokens), "cost": g.Cost,
		"wall_time": float64(g.WallTime)}[limit]
}

// Extended returns limits with a grant on top of what has been used by now, or of the limit where that is more. Limits that
// there are not stay so; turns and took are what the run has used of turns and wall time.
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

// LimitRequest asks what a person is told of a run that has reached a limit.
type LimitRequest struct {
	Run    string `json:"run_id"`
	Agent  string `json:"agent"`
	Limit  string `json:"limit"`
	Limits Limits `json:"limits"`
	Usage  Usage  `json:"usage"`
	// Turns and Took are what the run has used of turns and wall time, Asked how often somebody was asked before.
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
