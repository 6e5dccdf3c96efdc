package workflows

import (
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"go.temporal.io/sdk/workflow"
)

// directCallWorkflow is the workflow of a direct call: one tool, once, through the same pipeline as
// every other call. A call that fails makes the run fail with the type api.RunCallsFailed
// and the RunResult as its details.
func directCallWorkflow(ctx workflow.Context, in *api.RunInput) (*api.RunResult, error) {
	if in.Call == nil {
		return nil,
			Invalid([]api.Problem{{Path: "$.call", Rule: api.RuleRequired,
				Message: "the input has no call"}})
	}
	call := *in.Call
	if call.OfRun() || call.Plan != nil {
		// A call with a purpose skips approval, policies or checks; the caller of a run must not
		// set one.
		return finishRun(ctx, in, nil, nil, Invalid([]api.Problem{{Path: "$.call", Rule: api.RuleType,
			Message: "a direct call has a tool and arguments; only a run itself makes calls that undo or verify others, and an execution plan stands among the arguments"}}))
	}
	if call.ID == "" {
		call.ID = api.TurnCallID(1, 1)
	}
	var pinned api.Pinned
	return runFrom(ctx, in, &pinned, &directRun{basicSource: basicSource{in}, call: call})
}

// directRun is the run of one call.
type directRun struct {
	basicSource
	call     api.Call
	pipeline *pipeline
}

func (r *directRun) caller() api.Caller {
	return api.Caller{Type: api.CallerDirect, ID: r.in.Caller.ID}
}

func (r *directRun) pins(_ workflow.Context, run string) *api.PinRequest {
	return &api.PinRequest{Run: run, Tools: []string{r.call.Tool}}
}

func (r *directRun) begin(_ workflow.Context, p *pipeline) error {
	r.pipeline = p
	return nil
}

func (r *directRun) makeCalls(ctx workflow.Context) (*api.RunResult, error) {
	outcomes, err := r.pipeline.runTurn(ctx, []api.Call{r.call}, "")
	if err := findStopCause(ctx, err); err != nil {
		return nil, err
	}
	return r.pipeline.callsResult(outcomes,
		func() ([]byte, error) { return outcomes[0].Result.Output, nil })
}

// findStopCause returns why a run of calls ends before its result: the pipeline failed, or the run
// was
// cancelled.
func findStopCause(ctx workflow.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// callsResult returns the result of a run of calls: a failure if a call failed, else the output.
func (p *pipeline) callsResult(outcomes []api.CallOutcome, output func() ([]byte,
	error)) (*api.RunResult, error) {
	result := p.tally(&api.RunResult{Outcome: api.OutcomeCompleted})
	for _, o := range outcomes {
		if o.Error != nil {
			result.Failures = append(result.Failures, o)
		}
	}
	if failed := len(result.Failures); failed > 0 {
		result.Outcome = api.OutcomeFailed
		first := result.Failures[0]
		message := "call " + first.ID + " of " + first.Tool + ": " + cutText(first.Error.Error())
		if failed > 1 {
			message += fmt.Sprintf("\n(and %d more failed)", failed-1)
		}
		result.Failures = shortFailures(result.Failures)
		return nil, runError(api.RunCallsFailed, message, nil, *result)
	}
	data, err := output()
	if size := jsonvalue.PayloadSize(data); err == nil && size > api.MaxPayload {
		err = fmt.Errorf("every call completed, but the run's output has %d bytes as JSON and the limit is %d; declare a smaller output",
			size, api.MaxPayload)
	}
	if err != nil {
		result.Outcome = api.OutcomeFailed
		return nil, runError(api.RunCallsFailed, err.Error(), nil, *result)
	}
	result.Output = data
	return result, nil
}

func shortFailures(failures []api.CallOutcome) []api.CallOutcome {
	out := make([]api.CallOutcome, 0, min(len(failures), maxFailures))
	for _, f := range failures[:min(len(failures), maxFailures)] {
		e := *f.Error
		e.Message = cutText(e.Message)
		e.Problems = e.Problems[:min(len(e.Problems), 20)]
		if measureJSON(e) > maxFailure {
			e.Problems, e.Details, e.Near = nil, nil, nil
		}
		out = append(out, api.CallOutcome{ID: f.ID, Tool: f.Tool, Error: &e})
	}
	return out
}
