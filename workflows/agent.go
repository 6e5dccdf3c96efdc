package workflows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/conversation"
	"github.com/switchyard/switchyard/workflows/failure"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// pinMessages bounds the conversation passed to the pin step, in bytes. The pin activity fetches a
// longer one by query.
const pinMessages = 64 << 10

// agentWorkflow is the workflow of an agent run. It repeats a model step, its tool calls and their
// results until the model answers or a limit is reached. earlier is the conversation so far,
// encoded by codec.EncodeMessages; nil for a new one. The error of a run has an api.RunErrorType as
// its type, unless the pin or admission step itself failed. A cancelled run ends as cancelled after
// its calls have ended.
func agentWorkflow(ctx workflow.Context, in *api.RunInput, earlier []byte,
	features []Feature) (*api.RunResult, error) {
	if in.Agent == nil {
		return nil, Invalid([]api.Problem{{Path: "$.agent", Rule: api.RuleRequired, Message: "the input has no agent"}})
	}
	r := newAgentRun(ctx, in, earlier, features)
	return runFrom(ctx, in, &r.pinned, r)
}

// agentRun is the run of an agent. The files limits.go, hooks.go, compact.go and breaker.go have
// its methods about these subjects.
type agentRun struct {
	in    *api.RunInput
	agent *api.Agent
	// earlier is the second input of the run, until the conversation has it.
	earlier      []byte
	conversation conversation.Conversation
	pinned       api.Pinned
	pipeline     *pipeline
	turn         int
	// before is the number of turns that earlier runs of the conversation took.
	before int
	// loaded holds the labels that those runs had seen.
	loaded  []string
	started time.Time
	// limits are those of the agent plus what a person has granted; asked is how often the run
	// asked for more.
	limits api.Limits
	asked  int
	// last is the usage of the last model step.
	last api.Usage
	// timeOver is set when the wall time has passed.
	timeOver bool
	// stopped names another reason to end before the next turn: the limit conversation or repeats.
	stopped string
	// pending are calls of the turn before the first one, which the run makes at its beginning.
	pending []api.Call
	// followers are the features that follow the turns of the run, besides its calls.
	followers []TurnFollower
	// window is how full the model's window is. compacted is set after a compaction until a model
	// step reports the new size.
	window    api.Window
	compacted bool
	repeats   api.Repeats
}

func newAgentRun(ctx workflow.Context, in *api.RunInput, earlier []byte,
	features []Feature) *agentRun {
	r := &agentRun{in: in, agent: in.Agent, earlier: earlier, started: workflow.Now(ctx),
		limits: in.Agent.Limits}
	if b := in.Beginning; b != nil && in.State == nil {
		r.turn, r.before = b.Turn, b.Before
		r.pending = b.Calls
	}
	for _, follow := range features {
		r.followers = append(r.followers, follow(ctx, r))
	}
	return r
}

func (r *agentRun) caller() api.Caller {
	return api.Caller{Type: api.CallerAgent, ID: r.agent.Name}
}

func (r *agentRun) features() (all []Follower) {
	for _, f := range r.followers {
		all = append(all, f)
	}
	return all
}

// open fills the conversation before the first turn: instructions, earlier messages, prompt. After
// continue-as-new the instructions are among the earlier messages.
func (r *agentRun) open(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, api.ConversationQuery, r.page); err != nil {
		return err
	}
	messages, err := r.messagesBefore(ctx, r.earlier)
	if err != nil {
		return err
	}
	r.earlier = nil
	if r.in.State == nil {
		r.instruct()
	}
	for _, m := range messages {
		r.conversation.Add(m)
	}
	if r.in.Prompt != "" {
		if len(messages) > 0 {
			r.window.Task = len(r.conversation.Messages)
		}
		r.conversation.Add(api.Message{Role: api.RoleUser, Text: r.in.Prompt})
	}
	r.conversation.MarkSeen()
	return nil
}

// begin sets what the run of an agent has besides calls, and runs the hooks before a run.
func (r *agentRun) begin(ctx workflow.Context, p *pipeline) error {
	if before := r.in.State; before != nil {
		r.turn, r.before, r.started = before.Turn, before.Before, before.Started
		r.resume(before)
	}
	r.pipeline = p
	p.runFacts.Label(r.loaded)
	p.details.before = r.before
	p.Run = budget.Run{Limits: r.limits, Started: r.started}
	p.stepsInline = r.agent.Model.Lane == api.LaneInline
	p.inlineOn = p.inlineOn || p.stepsInline
	p.undo.set(r.agent.Undo)
	r.useHooks()
	if r.in.State != nil {
		p.block(r.repeats)
		return nil
	}
	for _, f := range r.followers {
		f.Start(ctx)
	}
	return r.beginHooks(ctx)
}

// makeCalls takes turns, and has the answer checked.
func (r *agentRun) makeCalls(ctx workflow.Context) (*api.RunResult, error) {
	result, err := r.loop(ctx)
	r.pipeline.control.inbox.close("is ending")
	if err == nil {
		result = r.check(ctx, result)
	}
	return result, err
}

func (r *agentRun) finish(ctx workflow.Context, result *api.RunResult, err error) (*api.RunResult,
	error) {
	return r.endHooks(ctx, result, err)
}

// instruct puts the agent's instructions at the start of the conversation.
func (r *agentRun) instruct() {
	if r.agent.Instructions != "" {
		r.conversation.Add(api.Message{Role: api.RoleSystem, Text: r.agent.Instructions})
	}
	if r.in.DryRun {
		r.conversation.Add(api.Message{Role: api.RoleSystem, Text: api.DryRunNote})
	}
}

func (r *agentRun) pins(ctx workflow.Context, run string) *api.PinRequest {
	setup := newSetup(ctx, r.in, &r.pinned)
	request := &api.PinRequest{Run: run, Parent: r.in.Parent, Agent: r.agent, Tools: r.agent.Tools,
		Caller: setup.Caller, Queue: setup.Queue}
	if r.conversation.Size() < pinMessages {
		request.Messages = r.conversation.Messages
	}
	return request
}

func (r *agentRun) mode() api.Mode {
	if r.in.Mode != "" {
		return r.in.Mode
	}
	return r.agent.Mode
}

// loop takes turns until the run ends.
func (r *agentRun) loop(ctx workflow.Context) (*api.RunResult, error) {
	turns, stopTurns := r.turns(ctx)
	for {
		for limit := r.findReachedLimit(); limit != ""; limit = r.findReachedLimit() {
			if more, err := r.extendLimit(ctx, limit); err != nil || !more {
				return r.atLimit(ctx, limit, err)
			}
		}
		if turns.Err() != nil { // the wall time was over, and more of it was granted
			turns, stopTurns = r.turns(ctx)
		}
		if ended, result, err := r.nextTurn(ctx, turns, stopTurns); ended {
			return result, err
		}
		if !r.timeOver && r.continues(ctx) {
			return r.continueAsNew(ctx)
		}
	}
}

// nextTurn takes a turn and reports whether the run ends with it.
func (r *agentRun) nextTurn(ctx, turns workflow.Context, stopTurns func()) (ended bool,
	result *api.RunResult, err error) {
	done, result, err := r.takeTurn(turns)
	r.noticeWallTime(ctx, stopTurns)
	switch {
	case ctx.Err() != nil:
		return true, nil, ctx.Err()
	case r.timeOver && !done:
		return false, result, nil
	}
	return err != nil || done, result, err
}

// continues reports whether the run rolls over with continue-as-new, because its history is long or
// to move to another version of its deployment.
func (r *agentRun) continues(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return r.stopped == "" && (info.GetContinueAsNewSuggested() ||
		info.GetTargetWorkerDeploymentVersionChanged() && r.movable(ctx))
}

// takeTurn makes one model step and the calls it asks for. done reports that the step was the final
// answer.
func (r *agentRun) takeTurn(ctx workflow.Context) (done bool, result *api.RunResult, err error) {
	if used, err := r.beforeTurn(ctx); used || err != nil {
		return false, result, err
	}
	r.turn++
	r.pipeline.turn = r.turn
	response, err := r.ask(ctx, api.TurnStepID(r.turn), "")
	if err != nil {
		return r.handleNoAnswer(err)
	}
	for _, f := range r.followers {
		f.Answer(response.Message)
	}
	if calls := response.Message.Calls; len(calls) > 0 && response.Stop != api.StopRefusal {
		return false, result, r.makeAsked(ctx, response)
	}
	r.pipeline.cut = nil
	if more, err := r.mustGoOn(ctx, response.Stop); more || err != nil {
		return false, result, err
	}
	result, err = r.complete(&api.RunResult{Outcome: api.OutcomeAnswered,
		Answer: response.Message.Text}, response.Stop)
	return true, result, err
}

// makeAsked makes the calls of an answer.
func (r *agentRun) makeAsked(ctx workflow.Context, response *api.ModelResponse) error {
	if err := r.noticeCut(response); err != nil {
		return err
	}
	return r.makeTurn(ctx, response.Message.Calls)
}

// noticeCut has the calls of an answer refused that was cut off: the last one may lack arguments,
// and nobody knows what was to follow. A second such answer in a row ends the run.
func (r *agentRun) noticeCut(response *api.ModelResponse) error {
	before := r.pipeline.cut
	if r.pipeline.cut = nil; response.Stop != api.StopLength {
		return nil
	}
	limit := "the limit of the model"
	if n := r.agent.Model.MaxTokens; n > 0 {
		limit = fmt.Sprintf("max_tokens, which is %d", n)
	}
	if before != nil {
		return runError(api.RunModelFailed, fmt.Sprintf(
			"the model's answer of turn %d was cut off within its calls, as the one before; it ended at %s: raise it",
			r.turn, limit), nil, r.pipeline.usage)
	}
	r.pipeline.cut = api.Errorf(api.ErrValidation,
		"your answer was cut off after %d tokens, at %s, so none of its calls was made; write less in one answer",
		response.Usage.OutputTokens, limit)
	return nil
}

// beforeTurn does what precedes the model step of a turn. It reports whether it used something of
// the limits: it shortened the conversation, or made calls of a turn that is under way.
func (r *agentRun) beforeTurn(ctx workflow.Context) (used bool, err error) {
	if compacted, err := r.compactAhead(ctx); compacted || err != nil {
		return compacted, err
	}
	if calls := r.pending; len(calls) > 0 {
		r.pending, r.pipeline.turn = nil, r.turn
		return true, r.makeTurn(ctx, calls)
	}
	return false, nil
}

// makeTurn makes the calls of a turn and adds their outcomes to the conversation.
func (r *agentRun) makeTurn(ctx workflow.Context, calls []api.Call) error {
	outcomes, err := r.pipeline.runTurn(ctx, calls, r.agent.Order)
	before := len(r.conversation.Messages)
	r.tell(outcomes, r.noteRepeats(calls, outcomes))
	for _, f := range r.followers {
		f.Tell(outcomes, r.conversation.Messages[before:])
	}
	return err
}

// modelStep calls the model; with compaction set, it asks for a summary instead. The activity gets
// digests and fetches by query what its process does not have.
func (r *agentRun) modelStep(ctx workflow.Context, id, limit string,
	compaction *api.Compaction) (*api.ModelResponse, error) {
	if err := r.listen(ctx, limit, compaction != nil); err != nil {
		return nil, err
	}
	if compaction == nil {
		for _, f := range r.followers {
			f.Step(ctx, limit)
		}
	}
	if !r.pipeline.stepsInline {
		r.pipeline.publishState(ctx)
	}
	step := newModelStep(r, id, limit, compaction)
	response, err := r.step(ctx, step)
	if err != nil {
		return nil, err
	}
	if response.Exhausted != "" {
		return nil, exhausted(response.Exhausted)
	}
	r.conversation.MarkSeen()
	r.learn(response)
	r.last = response.Usage
	r.pipeline.usage.AddStep(response.Usage)
	return response, nil
}

// modelStep is a model step that is about to be made.
type modelStep struct {
	options workflow.ActivityOptions
	request api.ModelRequest
}

// newModelStep returns the model step of a run with that ID.
func newModelStep(r *agentRun, id, limit string, compaction *api.Compaction) *modelStep {
	c := &r.conversation
	s := &modelStep{request: api.ModelRequest{Run: r.pipeline.origin.Run, Turn: r.turn,
		Before: r.before, Chain: c.SeenChain, Seen: c.Seen, New: c.Fresh,
		Catalog: r.pinned.Catalog.Digest, Limit: limit, Compact: compaction}}
	model := r.agent.Model
	summary := fmt.Sprintf("turn %d", r.turn)
	switch {
	case limit != "":
		summary = "summary, because the limit of " + limit + " was reached"
	case compaction != nil:
		summary = fmt.Sprintf("summing up messages %d to %d, because the conversation is long", compaction.From+1, compaction.To)
	}
	if model.Name != "" {
		summary += " · " + model.Name
	}
	s.options = modelOptions(r.pipeline.queue, id, model, r.pinned.Model, summary)
	s.options.Priority = r.pipeline.priority.Step(r.pinned.Model)
	return s
}

// step makes one model step. A step whose workers were lost at every attempt is scheduled again, as
// repeatable calls are.
func (r *agentRun) step(ctx workflow.Context, s *modelStep) (*api.ModelResponse, error) {
	response := new(api.ModelResponse)
	if r.pipeline.stepsInline {
		return response, r.inlineStep(ctx, s, response)
	}
	for losses := 0; ; losses++ {
		err := s.start(ctx).Get(ctx, response)
		if err == nil || ctx.Err() != nil || !requeuesStep(failure.Of(err), losses) {
			return response, err
		}
		over := workflow.NewTimerWithOptions(ctx, requeuePause(losses+1),
			workflow.TimerOptions{Summary: s.options.ActivityID + " lost its workers"})
		if err := over.Get(ctx, nil); err != nil {
			return response, err
		}
		if err := r.pipeline.control.goOn(ctx); err != nil {
			return response, err
		}
	}
}

// start schedules an attempt of the step.
func (s *modelStep) start(ctx workflow.Context) workflow.Future {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, s.options),
		api.ModelActivity, s.request)
}

// modelError returns the run's error for a failed model step; what names the step.
func (r *agentRun) modelError(err error, what string) error {
	if temporal.IsCanceledError(err) {
		return err
	}
	message := err.Error()
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		message = app.Message()
	}
	return runError(api.RunModelFailed, what+" failed: "+message, err, r.pipeline.usage)
}

// complete completes a result according to the reason why the model stopped.
func (r *agentRun) complete(result *api.RunResult, stop api.Stop) (*api.RunResult, error) {
	r.pipeline.tally(result)
	result.Labels = r.pipeline.runFacts.Labels
	if r.in.Parent != nil {
		result.Undo = r.pipeline.undo.pack()
	}
	if stop == api.StopLength {
		result.Stop = stop
	}
	if stop == api.StopRefusal {
		return nil, runError(api.RunRefused, "the model declined: "+result.Answer, nil, *result)
	}
	return result, nil
}

// inlineStep makes a model step within the workflow task. The run cannot answer queries meanwhile,
// so the step gets all it needs as input.
func (r *agentRun) inlineStep(ctx workflow.Context, s *modelStep,
	response *api.ModelResponse) error {
	p, o, request := r.pipeline, &s.options, &s.request
	if err := p.sizes.Task.AwaitInline(ctx, maxInlineStep); err != nil {
		return err
	}
	p.sizes.Task.Enter(ctx, o.ActivityID, maxInlineStep)
	setup := newSetup(ctx, r.in, &r.pinned)
	setup.Agent = r.agent
	request.Inline = &api.InlineStep{ID: o.ActivityID,
		Messages: slices.Clip(r.conversation.Messages), Setup: &setup}
	if request.Limit == "" && request.Compact == nil {
		request.Inline.Left, request.Inline.Admit = p.WallTimeLeft(ctx), p.stepAdmission()
	}
	options := localOptions(o.StartToCloseTimeout, o.RetryPolicy, api.InlineSummary(o.ActivityID,
		o.Summary))
	err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options),
		api.ModelActivity, *request).Get(ctx, response)
	p.sizes.Task.Leave(ctx, o.ActivityID, response.Message.Size()+
		budget.DecisionsSize(response.Decisions))
	p.pinRules(response.Decisions...)
	p.admitted = response.Decisions
	return err
}

// hookPrompt returns the first prompt of the run's chain, cut for hooks.
func (r *agentRun) hookPrompt() string {
	switch {
	case r.in.State != nil:
		return r.in.State.Prompt
	case hookrules.LacksRunHooks(r.agent.Hooks) && r.agent.Checker == nil:
		return ""
	case r.in.Beginning != nil:
		return r.in.Beginning.Prompt
	case len(r.in.Prompt) > maxHookPrompt:
		return strings.ToValidUTF8(r.in.Prompt[:maxHookPrompt], "")
	}
	return r.in.Prompt
}

// Input and the methods below show the run to its features; see AgentRun.
func (r *agentRun) Input() *api.RunInput      { return r.in }
func (r *agentRun) Turn() int                 { return r.turn }
func (r *agentRun) Before() int               { return r.before }
func (r *agentRun) Messages() []api.Message   { return slices.Clip(r.conversation.Messages) }
func (r *agentRun) Tool(name string) api.Tool { return r.pipeline.tools.Of(name) }

func (r *agentRun) Calls() (own, below []api.PastCalls) {
	facts := &r.pipeline.runFacts
	return facts.Past(""), facts.ContinueDescendants()
}

// Labels returns the labels that the run has seen so far.
func (r *agentRun) Labels() []string {
	if r.pipeline == nil {
		return r.loaded
	}
	return r.pipeline.runFacts.Labels
}

func (r *agentRun) Instances(ctx workflow.Context) []Instance {
	return r.pipeline.instances.observe(ctx)
}

func (r *agentRun) TakeOver(ctx workflow.Context, past Past) {
	p := r.pipeline
	p.runFacts.TakeOver(past.Own, past.Below)
	p.instances.takeOver(ctx, slices.DeleteFunc(past.Instances, func(i api.InstanceState) bool {
		return r.Tool(i.Tool).Name == ""
	}))
}
