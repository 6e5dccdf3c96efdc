package workflows

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/workflow"
)

// flow is what one coroutine of a run waits for while its calls are under way. A coroutine for each
// call would be resumed at each event and each local activity of the run: 500 of them cost seconds.
type flow struct {
	// ctx is the context of the coroutine.
	ctx      workflow.Context
	pipeline *pipeline
	turn.Futures
	// own are the calls that the run itself makes and that are to be admitted together.
	own []ownCall
	// recording counts the local activities under way, and steps are those that begin as soon as
	// the workflow task has room for their markers.
	recording int
	steps     []startedStep
	// paused are the calls that go on when the run is no longer paused.
	paused []func(cancelled error)
}

func (p *pipeline) newFlow(ctx workflow.Context) *flow { return &flow{ctx: ctx, pipeline: p} }

// wait waits until something has ended, and what follows it has begun.
func (f *flow) wait() {
	f.pipeline.publishState(f.ctx)
	f.Wait(f.ctx)
}

// until waits until a condition holds.
func (f *flow) until(holds func() bool) {
	for !holds() {
		f.wait()
	}
}

// afterPause calls then as soon as the run is not paused, with the error of a cancelled context.
func (f *flow) afterPause(then func(cancelled error)) {
	control := f.pipeline.control
	if control.paused == nil {
		then(nil)
		return
	}
	if f.paused = append(f.paused, then); len(f.paused) > 1 {
		return
	}
	resumed := control.newResumeFuture(f.ctx)
	f.Add(resumed, func(workflow.Future) {
		waiting := f.paused
		f.paused = nil
		for _, then := range waiting {
			then(resumed.Get(f.ctx, nil))
		}
	})
}

// recordedStep is a local activity, whose result is one marker in history.
type recordedStep struct {
	ctx workflow.Context
	// most is at most how many bytes the marker has.
	most  int
	start func() workflow.Future
	// take reads the result and returns the size of the marker.
	take func(workflow.Future) int
}

// record makes the step and waits for it. The error is that of a cancelled context.
func (s recordedStep) record(task *budget.Task) error {
	return task.Record(s.ctx, s.most, func() int { return s.take(s.start()) })
}

type startedStep struct {
	recordedStep
	then func(cancelled error)
}

// record makes a step as soon as the workflow task has room for its marker, and calls then when its
// result is taken, or with the error of a cancelled context.
func (f *flow) record(s recordedStep, then func(cancelled error)) {
	f.steps = append(f.steps, startedStep{s, then})
	f.startSteps()
}

// startSteps starts the steps that fit into the workflow task. It ends the task only if the next
// step does not fit, though no other is under way: each that ends makes room.
func (f *flow) startSteps() {
	task := &f.pipeline.sizes.Task
	for len(f.steps) > 0 {
		s := f.steps[0]
		if f.recording > 0 && !task.FitsInline(s.ctx, s.most) {
			return
		}
		f.steps = f.steps[1:]
		end, err := task.Begin(s.ctx, s.most)
		if err != nil {
			s.then(err)
			continue
		}
		f.recording++
		f.Add(s.start(), func(result workflow.Future) {
			f.recording--
			end(s.take(result))
			f.startSteps()
			s.then(nil)
		})
	}
}

// ownCall is a call that the run itself makes and that is not admitted yet.
type ownCall struct {
	api.Call
	// ended takes the outcome of the call, or why it cannot be admitted.
	ended func(api.CallOutcome, error)
}

// makeOwn makes a call that the run itself makes, with those that come up before the coroutine
// waits again. ended takes its outcome, or why it cannot be admitted.
func (f *flow) makeOwn(call api.Call, ended func(api.CallOutcome, error)) {
	f.own = append(f.own, ownCall{call, ended})
	if len(f.own) == 1 {
		f.Add(readyFuture(f.ctx, nil), func(workflow.Future) { f.admitOwn() })
	}
}

// admitOwn admits the calls that the run itself makes, and makes them.
func (f *flow) admitOwn() {
	own := f.own
	f.own = nil
	for len(own) > 0 {
		calls := make([]api.Call, len(own))
		for i, c := range own {
			calls[i] = c.Call
		}
		n := f.pipeline.portion(calls)
		f.admitPortion(own[:n], calls[:n])
		own = own[n:]
	}
}

// admitPortion admits calls in one recorded step, and makes them. If their decisions are long, the
// step answers only the first ones. If it fails, after all its attempts, all calls fail with it.
func (f *flow) admitPortion(own []ownCall, calls []api.Call) {
	p := f.pipeline
	f.admit(calls, 0, true, func(decisions []api.AdmissionDecision, err error) {
		if err != nil {
			for _, c := range own {
				c.ended(api.CallOutcome{}, err)
			}
			return
		}
		if rest := own[len(decisions):]; len(rest) > 0 {
			f.admitPortion(rest, calls[len(decisions):])
		}
		share := p.Divide(p.usage, decisions)
		for i, v := range decisions {
			c := p.newCall(calls[i], v)
			c.share = share
			c.start(f, func(out api.CallOutcome) { own[i].ended(out, nil) })
		}
	})
}

// makeOne makes a call that the run itself makes and returns its outcome. It returns an error if
// the call cannot be admitted.
func (p *pipeline) makeOne(ctx workflow.Context, call api.Call) (out api.CallOutcome, err error) {
	f, over := p.newFlow(ctx), false
	f.makeOwn(call, func(o api.CallOutcome, e error) { out, err, over = o, e, true })
	f.until(func() bool { return over })
	return out, err
}
