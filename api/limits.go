package api

import (
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
