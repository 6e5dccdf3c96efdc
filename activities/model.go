package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/ledgers"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/specs"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/bm25"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// Error types of a failed model step in history.
const (
	modelFailed      = "model_failed"
	modelUnavailable = "model_unavailable"
)

// ModelStep calls the run's model with the conversation that r names. The model's calls get IDs of
// this turn; the provider's own IDs are not recorded.
func (a *Activities) ModelStep(ctx context.Context, r api.ModelRequest) (api.ModelResponse, error) {
	say, rest := a.keepStepAlive(ctx, r.Turn)
	defer rest()
	if r.Inline != nil {
		var stop context.CancelFunc
		ctx, stop = inlineContext(ctx, r.Inline.Left)
		defer stop()
	}
	response, err := a.answer(ctx, r, say)
	if err != nil {
		return api.ModelResponse{}, modelFailure(ctx, err)
	}
	if response.Exhausted != "" {
		return response, nil
	}
	for i := range response.Message.Calls {
		response.Message.Calls[i].ID = api.TurnCallID(r.Turn, i+1)
	}
	if response.Compacted == nil {
		response.Message.Role = api.RoleAssistant
	}
	if r.Inline != nil {
		if response.Stop != api.StopLength { // its calls are refused
			response.Decisions = a.admitStep(ctx, r.Inline.Admit, response)
		}
		return response, nil
	}
	if response.Compacted != nil {
		return response, nil // the run asks for another conversation next
	}
	a.Conversations.Keep(r.Run, response.Message)
	return response, nil
}

// subject returns what the run is pinned to and the conversation of a model step. An inline step's
// request contains both.
func (a *Activities) subject(ctx context.Context, r api.ModelRequest) (*api.Setup, []api.Message,
	error) {
	if r.Inline != nil {
		return r.Inline.Setup, r.Inline.Messages, nil
	}
	setup, err := a.Conversations.Setup(ctx, r.Run,
		func(p api.Pinned) bool { return p.Catalog.Digest == r.Catalog })
	if err != nil {
		return nil, nil, err
	}
	messages, err := a.Conversations.Messages(ctx, r)
	return setup, messages, err
}

func (a *Activities) answer(ctx context.Context, r api.ModelRequest,
	say func(string)) (api.ModelResponse, error) {
	setup, messages, err := a.subject(ctx, r)
	if err != nil {
		return api.ModelResponse{}, err
	}
	model, ok := a.config.Models[setup.Pinned.Value.Provider]
	if !ok {
		return api.ModelResponse{},
			&models.Error{Message: "this worker has no models of the provider " +
				string(setup.Pinned.Value.Provider)}
	}
	budgets := a.Ledgers.SelectBudgets(setup, a.config.Policies().Budgets())
	if exhausted, err := exhaustedBy(ctx, r, budgets); err != nil || exhausted != "" {
		return api.ModelResponse{Exhausted: exhausted}, err
	}
	p, compacted, err := a.prompt(setup, messages, r, say)
	if err != nil {
		return api.ModelResponse{}, err
	}
	p.Images = a.images(setup, p.Messages)
	if activity.IsActivity(ctx) {
		p.Key = api.Digest([]byte(activity.GetInfo(ctx).WorkflowExecution.ID))
	}
	hider := sensitiveIn(setup.Pinned.Value.Catalog, messages)
	p.Live = hiddenLive(hider, p.Live)
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(setup.Agent.Model.Timeout,
		api.DefaultModelTimeout).Std())
	defer cancel()
	response, err := model.Answer(ctx, p)
	if err != nil {
		return api.ModelResponse{}, hiddenFailure(hider, a.overflown(err, setup, p))
	}
	restoreKeys(p.Tools, response.Message.Calls)
	known := a.known(setup, response.Model)
	response.Window, response.Usage.Cost = known.Window, known.Price.Cost(response.Usage)
	budgets.Count(ctx, response.Usage)
	err = finalizeStep(&response, r, compacted)
	return response, err
}

// restoreKeys gives the arguments of calls the names that their tools know.
func restoreKeys(offered []models.Offer, calls []api.Call) {
	for i := range calls {
		for _, o := range offered {
			if o.Name == calls[i].Tool {
				calls[i].Arguments = o.Keys.Restore(models.UnwrapArguments(calls[i].Arguments))
			}
		}
	}
}

// exhaustedBy says which budget forbids a step; empty if none does. Steps that end a run or shorten
// its conversation are not checked, because they lead to no other calls.
func exhaustedBy(ctx context.Context, r api.ModelRequest, budgets ledgers.Budgets) (string, error) {
	if r.Limit != "" || r.Compact != nil {
		return "", nil
	}
	return budgets.DescribeExhausted(ctx)
}

// finalizeAnswer converts a model's message into one that the run can use; last means that the
// model was offered no tools.
func finalizeAnswer(m *api.Message, last bool) error {
	if last {
		if len(m.Calls) > 0 || m.Text == "" {
			m.Native = nil
		}
		m.Calls = nil
		m.Text = cmp.Or(m.Text, "The model gave no summary.")
	}
	if m.Text == "" && len(m.Calls) == 0 {
		return &models.Error{Message: "the model answered with nothing: neither text nor calls"}
	}
	bound(m)
	return nil
}

// Bounds of one answer, in bytes: of its text, and of its native form.
const (
	maxAnswer = 128 << 10
	maxNative = 512 << 10
	// maxThought bounds the reasoning that people may read.
	maxThought = 32 << 10
)

// bound fits an answer into history. The native form of an answer that had to be changed is left
// out.
func bound(m *api.Message) {
	m.Native = boundNative(m.Native)
	text, calls := m.Text, slices.Clone(m.Calls)
	boundTexts(m)
	if m.Text != text || !slices.Equal(m.Calls, calls) {
		m.Native = nil
	}
}

// boundNative returns the native form as history has it, where it is encoded by json.Marshal:
// worker
// and run compute the same digest. A form that is too long is left out.
func boundNative(n *api.Native) *api.Native {
	if n == nil {
		return nil
	}
	items, err := json.Marshal(n.Items)
	if err != nil || len(items) > maxNative {
		return nil
	}
	same := *n
	same.Items = items
	return &same
}

// boundTexts truncates the text of an answer and replaces the longest arguments by text that
// admission rejects and the model sees.
func boundTexts(m *api.Message) {
	m.Thought = executor.ValidText(m.Thought)
	m.Thought = m.Thought[:executor.FittingPrefix(m.Thought, maxThought)]
	m.Text = executor.ValidText(m.Text)
	if len(m.Text) > maxAnswer {
		m.Text = fmt.Sprintf("%s… [cut to %d of %d bytes]",
			m.Text[:executor.FittingPrefix(m.Text, maxAnswer)], maxAnswer, len(m.Text))
	}
	for i := range m.Calls {
		m.Calls[i].Tool, m.Calls[i].Arguments = executor.ValidText(m.Calls[i].Tool),
			executor.ValidText(m.Calls[i].Arguments)
	}
	if !answerFits(m) {
		m.Native = nil
	}
	fitCalls(m)
}

// fitCalls drops the longest arguments of calls until the message fits into history.
func fitCalls(m *api.Message) {
	for len(m.Calls) > 0 && !answerFits(m) {
		longest := &m.Calls[0]
		for i := range m.Calls {
			if len(m.Calls[i].Arguments) > len(longest.Arguments) {
				longest = &m.Calls[i]
			}
		}
		dropped := fmt.Sprintf(
			"[%d bytes of arguments were dropped: an answer may have %d bytes in all]",
			len(longest.Arguments), api.MaxPayload)
		if len(longest.Arguments) <= len(dropped) {
			m.Calls = m.Calls[:len(m.Calls)/2] // tens of thousands of small calls
			continue
		}
		longest.Arguments = dropped
	}
}

// answerFits reports whether the message fits into history. It encodes the message only if it may
// be too long.
func answerFits(m *api.Message) bool {
	if m.Size()+len(m.Calls)*2*api.MaxToolName < api.MaxPayload/6 {
		return true
	}
	data, err := json.Marshal(m)
	return err == nil && len(data) < api.MaxPayload*3/4 // the calls' ids come on top
}

// modelFailure converts a model's error to a Temporal error. Temporal owns all retries and honours
// the provider's requested delay.
func modelFailure(ctx context.Context, err error) error {
	if temporal.IsCanceledError(context.Cause(ctx)) {
		return temporal.NewCanceledError()
	}
	options := temporal.ApplicationErrorOptions{Cause: err}
	kind := modelUnavailable
	if e, ok := errors.AsType[*models.Error](err); ok {
		options.Cause = nil
		options.NextRetryDelay = e.RetryAfter
		if options.NonRetryable = e.Permanent || e.Overflow; options.NonRetryable {
			kind = modelFailed
		}
		if e.Overflow {
			kind = api.ModelOverflow
		}
	}
	if activity.IsActivity(ctx) {
		activity.GetLogger(ctx).Warn("model step failed", "error", err, "permanent",
			options.NonRetryable)
	}
	return temporal.NewApplicationErrorWithOptions(executor.ValidText(err.Error()), kind, options)
}

// offers caches the tools shown to models, by catalog.
type offers struct {
	mu        sync.Mutex
	byCatalog map[string][]models.Offer
	// indexes are those of searched catalogs.
	indexes map[string]*bm25.Index
}

// maxOffers bounds the number of cached catalogs.
const maxOffers = 256

func newOffers() *offers {
	return &offers{byCatalog: map[string][]models.Offer{}, indexes: map[string]*bm25.Index{}}
}

func (o *offers) of(s *specs.Cache, catalog api.Catalog) ([]models.Offer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, ok := o.byCatalog[catalog.Digest]; ok {
		return known, nil
	}
	var made []models.Offer
	for _, tool := range catalog.Tools {
		if tool.Status == api.StatusDisabled {
			continue
		}
		compiled, err := s.Of(tool)
		if err != nil {
			return nil, err
		}
		d := models.Declare(compiled.ModelSchema())
		made = append(made, models.Offer{Name: tool.Name,
			Description: d.Describe(compiled.Spec.Description), Schema: d.Schema, Keys: d.Keys})
	}
	if len(o.byCatalog) >= maxOffers {
		clear(o.byCatalog)
	}
	o.byCatalog[catalog.Digest] = made
	return made, nil
}
