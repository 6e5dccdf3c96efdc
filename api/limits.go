package api

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxInlineTimeout bounds the timeout of an inline tool, because the run decides nothing else
	// in the meantime.
	MaxInlineTimeout = Duration(5 * time.Second)
	// MaxInlineResult bounds the result of an inline call in bytes, whatever its tool's max_result,
	// and MaxInlineRecord its size in history, where JSON escapes some characters with six bytes.
	// Inline calls are recorded together, and a server bounds the size of a workflow task.
	MaxInlineResult = 64 << 10
	MaxInlineRecord = MaxInlineResult * 3 / 2
)

// InlineFault returns why calls of a tool on the lane inline are refused; nil if they are not, and
// for tools of other lanes. A lost worker repeats its inline calls, and an inline call cannot ask
// its run for anything, because the run waits for it.
func (t Tool) InlineFault() *Error {
	var why string
	switch {
	case t.Lane != LaneInline:
		return nil
	case t.Effect != EffectRead:
		why = fmt.Sprintf("it requires the effect read, but the effect is %s", t.Effect)
	case !t.Dispatch.TakesSlots():
		why = fmt.Sprintf("calls that are dispatched as %s cannot run on it", t.Dispatch)
	case t.AnswerWithin > 0:
		why = "calls that can ask people (answer_within) cannot run on it"
	case t.Timeout > MaxInlineTimeout:
		why = fmt.Sprintf("it allows timeouts of at most %s, but the timeout is %s",
			MaxInlineTimeout, t.Timeout)
	default:
		return nil
	}
	e := Errorf(ErrPreconditionFailed,
		"tool %q has the lane %s: %s; give its toolspec another lane", t.Name, LaneInline, why)
	e.Phase = PhasePreExecution
	return e
}

// InlineCall is the input of an inline call. It passes from the workflow to the activity within one
// process and is never encoded, so its size is not bounded. It is never modified.
type InlineCall struct {
	Execution
	ID string
	// Tool is the pinned tool, because an inline call cannot query its run.
	Tool Tool
	// Left is the remaining wall time of the run; zero is no bound.
	Left Duration
	// Apart says that the run's model steps do not run inline, so that the next step looks up the
	// call's message in the cache of its process.
	Apart bool
}

// HasValues and Get let the dynamic activity decode the call like one from a task queue.
func (c *InlineCall) HasValues() bool { return true }

// Get is part of the interface converter.EncodedValues; see HasValues.
func (c *InlineCall) Get(into ...any) error {
	if len(into) == 1 {
		if x, ok := into[0].(*Execution); ok {
			*x = c.Execution
			return nil
		}
	}
	return fmt.Errorf("an inline call has one Execution, but %T is expected", into)
}

// InlineStep is the input of an inline model step, with what it would otherwise query from its run.
// Like an InlineCall it is never encoded.
type InlineStep struct {
	ID       string
	Setup    *Setup
	Messages []Message
	// Admit, where set, has the step admit the calls that the model asks for, which saves a local
	// activity and its marker. It has everything but the calls.
	Admit *AdmissionRequest
	// Left is as in InlineCall.
	Left Duration
}

// InlineSummary is the summary of an inline call or step: its id, which a marker does not have
// otherwise, and a description.
func InlineSummary(id, line string) string { return id + " " + line }

// InlineID returns the id at the beginning of an InlineSummary.
func InlineID(summary string) string {
	id, _, _ := strings.Cut(summary, " ")
	return id
}

// StepTurn returns the turn of a model step, the inverse of TurnStepID; zero for other ids.
func StepTurn(id string) int {
	turn, err := strconv.Atoi(strings.TrimPrefix(id, "turn-"))
	if err != nil || TurnStepID(turn) != id {
		return 0
	}
	return turn
}

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

// text returns the amounts in words; empty for none.
func (g *Grant) text() string {
	if g == nil {
		return ""
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{g.Turns, "model step"}, {g.Calls, "call"}, {g.Tokens, "token"}} {
		if part.n != 0 {
			parts = append(parts, Plural(part.n, "more "+part.what))
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

func (g *Grant) negative() bool {
	return g != nil && (g.Turns < 0 || g.Calls < 0 || g.Tokens < 0 || g.Cost < 0 || g.WallTime < 0)
}

// Of returns the grant for a limit by its name; zero for none, and for limits that cannot be
// granted.
func (g *Grant) Of(limit string) float64 {
	if g == nil {
		return 0
	}
	return map[string]float64{"turns": float64(g.Turns), "calls": float64(g.Calls),
		"tokens": float64(g.Tokens), "cost": g.Cost,
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
	lines := []string{fmt.Sprintf("The agent %s has reached its limit of %s. May it use more?",
		r.Agent, r.Limit)}
	add := func(name string, limited bool, used, limit string) {
		if limited {
			lines = append(lines, fmt.Sprintf("%s: %s of %s", name, used, limit))
		}
	}
	add("turns", true, fmt.Sprint(r.Turns), fmt.Sprint(cmp.Or(l.Turns, DefaultTurns)))
	add("calls", l.Calls > 0, fmt.Sprint(u.Calls), fmt.Sprint(l.Calls))
	add("tokens", l.Tokens > 0, fmt.Sprint(u.InputTokens+u.OutputTokens), fmt.Sprint(l.Tokens))
	add("cost", l.Cost > 0, fmt.Sprintf("$%.4f", u.Cost), fmt.Sprintf("$%.4f", l.Cost))
	add("wall time", l.WallTime > 0, Duration(r.Took.Std().Round(time.Second)).String(),
		l.WallTime.String())
	text := strings.Join(lines, "\n")
	return ApprovalNeed{Reason: "the run has reached its limit of " + r.Limit, Limit: r.Limit,
		Text: text,
		Digest: ApprovalDigest("", r.Run, LimitCall, Tool{Name: r.Limit},
			[]byte(fmt.Sprint(r.Asked, " ", text)), nil),
		Within: cmp.Or(l.AskTimeout, DefaultApprovalTimeout)}
}
