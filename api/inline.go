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
