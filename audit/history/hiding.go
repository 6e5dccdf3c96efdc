package history

import (
	"encoding/json"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// maxHidden bounds the number of sensitive values that are removed from the texts of a run.
const maxHidden = 1000

// hidden has the sensitive values that the history has shown so far. Masks redact them where they
// stand; hidden removes them from all other texts: messages of the model, failures, other calls.
type hidden struct {
	values map[string]bool
	hider  *redaction.Hider
	// outputs are the masks of the results of calls, by call ID. The result of a plan has these IDs
	// as keys.
	outputs map[string]*redaction.Mask
}

// note keeps the values in the sensitive parts of a value.
func (h *hidden) note(mask *redaction.Mask, value json.RawMessage) {
	var fresh []string
	for _, v := range mask.Values(value) {
		if len(h.values) >= maxHidden || h.values[v] {
			continue
		}
		if h.values == nil {
			h.values = map[string]bool{}
		}
		h.values[v] = true
		fresh = append(fresh, v)
	}
	if len(fresh) > 0 {
		h.hider = h.hider.With(redaction.Word, fresh...)
	}
}

// result redacts the sensitive parts of a call's result.
func (h *hidden) result(id string, mask *redaction.Mask, r *api.Result) *api.Result {
	if mask == nil || r == nil {
		return r
	}
	h.note(mask, r.Output)
	if h.outputs == nil {
		h.outputs = map[string]*redaction.Mask{}
	}
	h.outputs[id] = mask
	shown := *r
	shown.Output = mask.Redact(r.Output)
	if r.Cut > 0 {
		// A truncated JSON value cannot be parsed, so the whole text is redacted.
		shown.Output = (&redaction.Mask{All: true}).Redact(r.Output)
	}
	return &shown
}

// event returns an event without sensitive values in its texts. Names stay: IDs, tools, lanes.
func (h *hidden) event(e api.Event) api.Event {
	if h.hider == nil {
		return e
	}
	e.Summary, e.Failure = h.hider.Text(e.Summary), h.hider.Text(e.Failure)
	e.Problems = callview.HideProblems(h.hider, e.Problems)
	e.Step, e.Result = h.step(e.Step), h.runResult(e.Result)
	if e.Record != nil {
		r := h.record(*e.Record)
		e.Record = &r
	}
	e.Timing, e.StepFailures = h.timing(e.Timing), slices.Clone(e.StepFailures)
	for i := range e.StepFailures {
		e.StepFailures[i].Timing = *h.timing(&e.StepFailures[i].Timing)
	}
	if e.Question != nil {
		q := *e.Question
		q.Text = h.hider.Text(q.Text)
		e.Question = &q
	}
	e.Approval, e.Decided = h.approval(e.Approval), h.decision(e.Decided)
	if e.Sent != nil {
		s := *e.Sent
		s.Text = h.hider.Text(s.Text)
		e.Sent = &s
	}
	if e.Hook != nil {
		e.Hook = &h.hooks([]api.HookAction{*e.Hook})[0]
	}
	return e
}

// timing returns a timing without sensitive values in its failure.
func (h *hidden) timing(t *api.Timing) *api.Timing {
	if t == nil {
		return nil
	}
	shown := *t
	shown.LastFailure = h.hider.Text(t.LastFailure)
	return &shown
}

func (h *hidden) step(step *api.ModelResponse) *api.ModelResponse {
	if h.hider == nil || step == nil {
		return step
	}
	shown := *step
	shown.Message.Text = h.hider.Text(step.Message.Text)
	shown.Message.Thought = h.hider.Text(step.Message.Thought)
	shown.Message.Calls = slices.Clone(step.Message.Calls)
	for i, c := range shown.Message.Calls {
		if arguments, had := h.hider.JSON(json.RawMessage(c.Arguments)); had {
			shown.Message.Calls[i].Arguments = string(arguments)
		}
	}
	return &shown
}

// record returns a record without sensitive values in its texts.
func (h *hidden) record(r api.Record) api.Record {
	if h.hider == nil {
		return r
	}
	r.Arguments, _ = h.hider.JSON(r.Arguments)
	r.Error, r.Notes = callview.HideError(h.hider, r.Error), h.hider.Texts(r.Notes)
	r.Hooks, r.LastFailure = h.hooks(r.Hooks), h.hider.Text(r.LastFailure)
	r.Policies, r.Approval = h.policies(r.Policies), h.decision(r.Approval)
	r.Plan = callview.HidePlan(r.Plan, h.hider)
	if r.Result != nil {
		shown := *r.Result
		shown.Output, _ = h.hider.JSON(shown.Output)
		shown.Notes, shown.Hooks = h.hider.Texts(shown.Notes), h.hooks(shown.Hooks)
		r.Result = &shown
	}
	return r
}

func (h *hidden) policies(actions []api.PolicyAction) []api.PolicyAction {
	shown := slices.Clone(actions)
	for i, a := range shown {
		shown[i].Message, shown[i].Failure = h.hider.Text(a.Message), h.hider.Text(a.Failure)
	}
	return shown
}

func (h *hidden) approval(a *api.Approval) *api.Approval {
	if h.hider == nil || a == nil {
		return a
	}
	shown := *a
	shown.Reason, shown.Text = h.hider.Text(a.Reason), h.hider.Text(a.Text)
	return &shown
}

func (h *hidden) decision(d *api.Decided) *api.Decided {
	if h.hider == nil || d == nil {
		return d
	}
	shown := *d
	shown.Why, shown.Reason = h.hider.Text(d.Why), h.hider.Text(d.Reason)
	shown.Original, _ = h.hider.JSON(d.Original)
	shown.Edited, _ = h.hider.JSON(d.Edited)
	return &shown
}

func (h *hidden) hooks(actions []api.HookAction) []api.HookAction {
	shown := slices.Clone(actions)
	for i, a := range shown {
		shown[i].Reason = h.hider.Text(a.Reason)
	}
	return shown
}

// runResult returns a result of a run without sensitive values in its texts.
func (h *hidden) runResult(r *api.RunResult) *api.RunResult {
	if h.hider == nil || r == nil {
		return r
	}
	shown := *r
	shown.Answer = h.hider.Text(r.Answer)
	shown.Output, _ = h.hider.JSON(r.Output)
	shown.Failures = slices.Clone(r.Failures)
	for i, f := range shown.Failures {
		shown.Failures[i].Error = callview.HideError(h.hider, f.Error)
	}
	shown.Undone = slices.Clone(r.Undone)
	for i, u := range shown.Undone {
		shown.Undone[i].Error = callview.HideError(h.hider, u.Error)
	}
	return &shown
}

// output returns the result of a plan or of a direct call without its sensitive parts.
func (r *run) output(result *api.RunResult) *api.RunResult {
	if result == nil || len(result.Output) == 0 || len(r.hidden.outputs) == 0 {
		return result
	}
	shown := *result
	mask := &redaction.Mask{Keys: r.hidden.outputs}
	if r.summary.Kind == RunCall {
		mask = r.tools[r.summary.Name].OutputMask
	} else if !isObject(result.Output) {
		return result // the output expression of the plan; values are removed by text
	}
	shown.Output = mask.Redact(result.Output)
	return &shown
}

func isObject(value json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(value, &members) == nil && members != nil
}
