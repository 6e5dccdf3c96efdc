package failures

import (
	"fmt"

	"github.com/switchyard/switchyard/api"
)

// InlineFault returns why calls of a tool on the lane inline are refused; nil if they are not, and
// for tools of other lanes. A lost worker repeats its inline calls, and an inline call cannot ask
// its run for anything, because the run waits for it.
func InlineFault(t api.Tool) *api.Error {
	var why string
	switch {
	case t.Lane != api.LaneInline:
		return nil
	case t.Effect != api.EffectRead:
		why = fmt.Sprintf("it requires the effect read, but the effect is %s", t.Effect)
	case !t.Dispatch.TakesSlots():
		why = fmt.Sprintf("calls that are dispatched as %s cannot run on it", t.Dispatch)
	case t.AnswerWithin > 0:
		why = "calls that can ask people (answer_within) cannot run on it"
	case t.Timeout > api.MaxInlineTimeout:
		why = fmt.Sprintf("it allows timeouts of at most %s, but the timeout is %s",
			api.MaxInlineTimeout, t.Timeout)
	default:
		return nil
	}
	e := api.Errorf(api.ErrPreconditionFailed,
		"tool %q has the lane %s: %s; give its toolspec another lane", t.Name, api.LaneInline, why)
	e.Phase = api.PhasePreExecution
	return e
}
