package api

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxInlineTimeout is the longest timeout of a tool that runs inline: the run decides about nothing else meanwhile.
	MaxInlineTimeout = Duration(5 * time.Second)
	// MaxInlineResult bounds an inline call's result in bytes, whatever its tool's max_result, and MaxInlineRecord what it takes
	// in history, where JSON writes some characters with six bytes. What runs inline is recorded together, and a server takes
	// only so much at a time.
	MaxInlineResult = 64 << 10
	MaxInlineRecord = MaxInlineResult * 3 / 2
)

// InlineFault returns why calls of a tool of the lane inline are refused; nil where they are not, and for tools of other
// lanes. A worker that is lost repeats what it ran inline, and what runs inline can ask its run for nothing, because the run
// waits for it.
func (t Tool) InlineFault() *Error {
	var why string
	switch {
	case t.Lane != LaneInline:
		return nil
	case t.Effect != EffectRead:
		why = fmt.Sprintf("only tools of the effect read may, and its effect is %s", t.Effect)
	case t.Kind != "":
		why = fmt.Sprintf("tools of the kind %s cannot", t.Kind)
	case t.AnswerWithin > 0:
		why = "tools that ask people (answer_within) cannot"
	case t.Timeout > MaxInlineTimeout:
		why = fmt.Sprintf("only tools with a timeout of at most %s may, and its timeout is %s", MaxInlineTimeout, t.Timeout)
	default:
		return nil
	}
	e := Errorf(ErrPreconditionFailed, "tool %q has the lane %s: %s; give its toolspec another lane", t.Name, LaneInline, why)
	e.Phase = PhasePreExecution
	return e
}

// InlineCall is the input of a call that runs inline. It goes from the workflow to the activity within one process and is
// never encoded, so that it may be as large as it likes; nothing in it is written to once it is made.
type InlineCall struct {
	Execution
	ID string
	// Tool is the pinned tool: an inline call cannot ask its run for it.
	Tool Tool
	// Left is what is left of the run's wall time when the call is made; zero is no bound.
	Left Duration
	// Apart says that the run's model steps do not run inline, so that the next one looks for the call's message in what its
	// process remembers.
	Apart bool
}

// HasValues and Get let the activity that executes any tool take the call like one that comes from a task queue.
func (c *InlineCall) HasValues() bool { return true }

// Get is described with HasValues.
func (c *InlineCall) Get(into ...any) error {
	if len(into) == 1 {
		if x, ok := into[0].(*Execution); ok {
			*x = c.Execution
			return nil
		}
	}
	return fmt.Errorf("an inline call holds one Execution, and %T is asked for", into)
}

// InlineStep is what a model step that runs inline is given in place of what it would ask its run for. Like an InlineCall it
// is never encoded.
type InlineStep struct {
	ID       string
	Setup    *Setup
	Messages []Message
	// Admit, where set, is with what the step admits the calls that the model asks for, without the calls: one thing less to
	// run and to record. Otherwise the run has them admitted.
	Admit *AdmissionRequest
	// Left is as in InlineCall.
	Left Duration
}

// InlineSummary is the summary of what runs inline: its id, which history does not tell otherwise, before what it is.
func InlineSummary(id, line string) string { return id + " " + line }

// InlineID returns the id that an InlineSummary begins with.
func InlineID(summary string) string {
	id, _, _ := strings.Cut(summary, " ")
	return id
}

// StepTurn returns the turn of a model step, the inverse of TurnStepID; zero for ids that are no turn's.
func StepTurn(id string) int {
	turn, err := strconv.Atoi(strings.TrimPrefix(id, "turn-"))
	if err != nil || TurnStepID(turn) != id {
		return 0
	}
	return turn
}
