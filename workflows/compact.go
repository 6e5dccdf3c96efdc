package workflows

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/conversation"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// maxTranscript bounds the text that a model with an unknown window is given to summarise at
	// once, in bytes; it fits into most windows. minTranscript fits into every window.
	maxTranscript = 400 << 10
	minTranscript = 2 << 10
	// maxSummary and minSummary bound a summary, in bytes.
	maxSummary = 32 << 10
	minSummary = 512
	// endless is the capacity of an unknown window, in bytes.
	endless = 1 << 40
	// bytesPerToken is an estimate. leastSaved is the part of the window that a summarising step
	// must save to be worth its cost.
	bytesPerToken = 4
	leastSaved    = 10
	// maxTries bounds the compactions for one model step, maxFutile those without effect.
	maxTries  = 8
	maxFutile = 2
)

// errFull says that no further model step is possible.
var errFull = errors.New("the conversation is longer than the model's window, and could not be made short enough")

// overflows reports whether a model step failed because the conversation exceeds the model's
// window.
func overflows(err error) bool {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && app.Type() == api.ModelOverflow
}

// learn records what a model step reported about the window.
func (r *agentRun) learn(response *api.ModelResponse) {
	w := &r.window
	w.Size = cmp.Or(response.Window, w.Size)
	if response.Compacted == nil {
		w.Tokens, r.compacted = response.Usage.InputTokens+response.Usage.OutputTokens, false
	}
}

// tell adds the outcomes of a turn to the conversation.
func (r *agentRun) tell(outcomes []api.CallOutcome, hint hints) {
	for _, o := range outcomes {
		if o.Result == nil && o.Error == nil {
			continue
		}
		m := o.Message()
		m.Text += hint[o.ID]
		r.conversation.Add(m)
		if o.Result != nil && o.Result.Tokens > 0 {
			r.window.Tokens += o.Result.Tokens
		} else {
			r.window.Tokens += len(m.Text) / bytesPerToken
		}
	}
}

// frame estimates how many bytes of conversation fill the model's window, from the token count of
// the last step. If a token seems to have very few bytes, the tools take the other tokens.
func (r *agentRun) frame() int {
	if r.window.Size == 0 || r.window.Tokens == 0 {
		return endless
	}
	return max(int(float64(conversation.Weigh(r.conversation.Messages))*float64(
		r.window.Size)/float64(r.window.Tokens)), 2*r.window.Size)
}

// compactAhead shortens a conversation that approaches the model's window; done reports that it
// did. It leaves a conversation alone that would not become much shorter.
func (r *agentRun) compactAhead(ctx workflow.Context) (done bool, err error) {
	w := r.window
	at := cmp.Or(r.agent.Model.CompactAt, api.DefaultCompactAt)
	if r.compacted || w.Size == 0 || float64(w.Tokens) < at*float64(w.Size) {
		return false, nil
	}
	frame := r.frame()
	s := conversation.Shorten(r.conversation.Messages, w.Task, frame)
	saved := (conversation.Weigh(r.conversation.Messages) - s.Weight(frame)) / bytesPerToken
	if saved < w.Size/leastSaved {
		return false, nil
	}
	return true, r.compact(ctx, s, frame)
}

// ask makes a model step. If the conversation exceeds the model's window, it compacts the
// conversation and repeats the step. It returns errFull if that does not help.
func (r *agentRun) ask(ctx workflow.Context, id, limit string) (*api.ModelResponse, error) {
	futile := 0
	for range maxTries {
		response, err := r.modelStep(ctx, id, limit, nil)
		if err == nil {
			r.conversation.Add(response.Message)
			return response, nil
		}
		if _, is := errors.AsType[exhausted](err); is {
			return nil, err
		}
		if !overflows(err) {
			return nil, r.modelError(err, fmt.Sprintf("the model step of turn %d", r.turn))
		}
		before := conversation.Weigh(r.conversation.Messages)
		frame := min(r.frame(), before) >> futile
		if err := r.compact(ctx, conversation.Shorten(r.conversation.Messages, r.window.Task,
			frame), frame); err != nil {
			return nil, err
		}
		if conversation.Weigh(r.conversation.Messages) > before-before/20 {
			futile++
		}
		if futile == maxFutile {
			break
		}
	}
	return nil, errFull
}

// compact shortens the conversation with a model step that summarises everything before its latest
// turns.
func (r *agentRun) compact(ctx workflow.Context, s conversation.Shortening, frame int) error {
	messages := s.Head
	switch {
	case len(s.Older) == 0:
	case len(s.Older) == 1 && s.Older[0].IsSummary():
		m := s.Older[0]
		m.Text = conversation.CutWithin(m.Text, summaryBytes(frame), conversation.CutTask)
		messages = append(messages, m)
	default:
		m, err := r.sumUp(ctx, s, frame)
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	before := conversation.Weigh(r.conversation.Messages)
	r.conversation.Replace(append(messages, s.Tail...))
	after := conversation.Weigh(r.conversation.Messages)
	r.window.Tokens = int(float64(r.window.Tokens) * float64(after) / float64(max(before, 1)))
	r.window.Task = max(s.TaskAt, 0)
	r.compacted = true
	return nil
}

// summaryBytes returns the length limit of a summary for a window of frame bytes.
func summaryBytes(frame int) int {
	return min(max(frame/conversation.SummaryShare, minSummary), maxSummary)
}

// sumUp makes the model step that summarises and returns the message that replaces what it
// summarised. The model gets only a part of what is too long for it.
func (r *agentRun) sumUp(ctx workflow.Context, s conversation.Shortening, frame int) (api.Message,
	error) {
	transcript := frame - frame/3
	if r.window.Size == 0 {
		transcript = min(transcript, maxTranscript)
	}
	for {
		transcript = max(transcript, minTranscript)
		r.window.Compactions++
		response, err := r.modelStep(ctx, compactStepID(r.window.Compactions), "",
			&api.Compaction{
				From: s.From, To: s.To, Task: s.Task, MaxTranscript: transcript,
				MaxSummary: summaryBytes(frame)})
		if err == nil {
			return response.Message, nil
		}
		if !overflows(err) || transcript == minTranscript {
			return api.Message{},
				r.modelError(err, fmt.Sprintf("the summing up of the conversation after turn %d",
					r.turn))
		}
		transcript /= 2
	}
}

// resume restores the results of continuedWindow and continuedRepeats.
func (r *agentRun) resume(continueState *api.ContinueState) {
	if continueState.Window != nil {
		r.window = *continueState.Window
	}
	if continueState.Repeats != nil {
		r.repeats = *continueState.Repeats
	}
	if continueState.Limits != nil {
		r.limits, r.asked = *continueState.Limits, continueState.Grants
	}
}

// continuedWindow returns what continue-as-new carries of the window; nil for a run without
// compaction.
func (r *agentRun) continuedWindow() *api.Window {
	if r.window.Size == 0 && r.window.Compactions == 0 && r.window.Task == 0 {
		return nil
	}
	w := r.window
	return &w
}

// leastConversation is what continue-as-new must be able to carry of a conversation, in bytes.
const leastConversation = 64 << 10

// continueAsNew continues in a new history with the whole state of the run, on the version that the
// deployment has for new runs. It ends the run if that state is too large for the input of an
// execution.
func (r *agentRun) continueAsNew(ctx workflow.Context) (*api.RunResult, error) {
	pinned, err := api.Pack(r.pinned).EncodeOnce()
	if err != nil {
		return nil, err
	}
	left := api.MaxInputs - measureJSON(r.nextInput(ctx, pinned))
	if left < leastConversation {
		return r.atLimit(ctx, budget.LimitConversation, nil)
	}
	limit := min(left-leastConversation/2, api.MaxPayload)
	earlier, err := r.carriable(ctx, limit, api.MaxInputs-left)
	if _, large := errors.AsType[*api.Error](err); large {
		return r.atLimit(ctx, budget.LimitConversation, nil)
	}
	if err != nil {
		return nil, err
	}
	next := r.nextInput(ctx, pinned)
	if len(earlier)+measureJSON(next) > api.MaxInputs {
		return r.atLimit(ctx, budget.LimitConversation, nil)
	}
	return nil, workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{
		InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade,
	}, api.AgentWorkflow, next, earlier)
}

// movable reports whether the next execution can take the conversation as it is. A run that would
// have to shorten it stays on its version until its history is long. Sizes are those without
// compression, so that every build decides the same on replay.
func (r *agentRun) movable(ctx workflow.Context) bool {
	size, err := r.plainSize(ctx)
	// Twice, because JSON is longer than the texts in it.
	return err == nil && 2*r.conversation.Size() <= api.MaxInputs-size-leastConversation
}

// plainSize returns the size of the next execution's input without the conversation and without
// compression.
func (r *agentRun) plainSize(ctx workflow.Context) (int, error) {
	pinned, err := api.Pack(r.pinned).Plain()
	if err != nil {
		return 0, err
	}
	next := r.nextInput(ctx, pinned)
	if next.State.Undo, err = plain(next.State.Undo); err != nil {
		return 0, err
	}
	if next.State.Earlier, err = plain(next.State.Earlier); err != nil {
		return 0, err
	}
	agent := *next.Agent
	if agent.Model.Script, err = plain(agent.Model.Script); err != nil {
		return 0, err
	}
	next.Agent = &agent
	return measureJSON(next), nil
}

func plain[T any](p *api.Packed[T]) (*api.Packed[T], error) {
	if p == nil {
		return nil, nil
	}
	q, err := p.Plain()
	return &q, err
}

// nextInput returns the input of the next execution, without the conversation.
func (r *agentRun) nextInput(ctx workflow.Context, pinned api.Packed[api.Pinned]) api.RunInput {
	p := r.pipeline
	next := *r.in
	next.Prompt, next.Statements = "", nil
	next.State = &api.ContinueState{Run: p.origin.Run, Started: r.started, Turn: r.turn,
		Before: r.before, Usage: p.usage, Prompt: r.hookPrompt(), Pinned: pinned,
		Grants: r.asked, Limits: r.continuedLimits(), Window: r.continuedWindow(),
		Repeats: r.continuedRepeats(), Statements: p.statements.Select(api.SourcePrompt,
			api.SourceMessage, api.SourceParent)}
	p.followers.Save(ctx, next.State)
	return next
}

// carriable returns the conversation for continue-as-new, shortened where it has more than limit
// bytes. The other input has rest bytes. The conversation includes messages that arrive while the
// run waits for its next workflow task, because nothing else carries them over.
func (r *agentRun) carriable(ctx workflow.Context, limit, rest int) ([]byte, error) {
	earlier, err := r.shorten(ctx, limit)
	for err == nil && len(earlier) <= limit {
		if err := r.pipeline.sizes.Task.Await(ctx, len(earlier)+rest); err != nil {
			return nil, err
		}
		if !r.pipeline.control.inbox.unseen(ctx) {
			break
		}
		earlier, err = r.readAll(ctx)
	}
	return earlier, err
}

// maxConversation bounds the uncompressed conversation that continue-as-new carries, in bytes. No
// model reads as much, and encoding more takes longer than a workflow task may take.
const maxConversation = 16 << 20

func (r *agentRun) shorten(ctx workflow.Context, limit int) ([]byte, error) {
	r.readAllSent(ctx)
	if r.conversation.Size() > maxConversation {
		return r.compactToContinue(ctx, limit)
	}
	if earlier, err := r.readAll(ctx); err == nil && len(earlier) <= limit {
		return earlier, nil
	}
	return r.compactToContinue(ctx, limit) // also a conversation that cannot be encoded
}

// compactToContinue shortens the conversation. The native forms of messages go first: they are
// long,
// and models read the words in their place.
func (r *agentRun) compactToContinue(ctx workflow.Context, limit int) ([]byte, error) {
	r.conversation.Replace(codec.WithoutNatives(r.conversation.Messages))
	if r.conversation.Size() <= maxConversation {
		if earlier, err := r.readAll(ctx); err == nil && len(earlier) <= limit {
			return earlier, nil
		}
	}
	frame := min(r.frame(), limit)
	if err := r.compact(ctx, conversation.Shorten(r.conversation.Messages, r.window.Task, frame),
		frame); err != nil {
		return nil, err
	}
	return r.readAll(ctx)
}

// readAll adds the messages that the run was sent to the conversation and encodes it.
func (r *agentRun) readAll(ctx workflow.Context) ([]byte, error) {
	r.readAllSent(ctx)
	return codec.EncodeMessages(r.conversation.Messages)
}

// compactStepID returns the activity id of a run's nth summarising model step, from 1.
func compactStepID(n int) string { return fmt.Sprintf("compact-%d", n) }
