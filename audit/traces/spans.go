// Package traces makes OpenTelemetry spans of runs by the semantic conventions for generative AI,
// and sends them. It uses histories only, so spans that are made during a run and a week later are
// equal, including their IDs.
package traces

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/traceparent"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// conventions is the version of OpenTelemetry's semantic conventions.
const conventions = "1.41.0"

// Options select the content of spans.
type Options struct {
	// Content adds arguments, results, messages of models and failures, with sensitive values
	// redacted. Without it spans have types, names, times and counts only.
	Content bool
	// Alone leaves out the runs of sub-agents.
	Alone bool
}

// tree is the position of a run in its trace.
type tree struct {
	Options
	// trace is the ID of the trace. parent is the parent of the run's span; nil for none.
	trace, parent []byte
	// run is the ID of the first execution of the run.
	run string
}

// newTree returns the position of a run. root is the first execution of the run at the top.
func newTree(s history.Summary, root string, o Options) *tree {
	t := &tree{Options: o, trace: traceparent.TraceID(root), run: s.Run}
	if caller, ok := traceparent.Parse(s.Trace); ok {
		t.trace, t.parent = caller.Trace, caller.Span
	}
	if p := s.Parent; p != nil {
		t.parent = traceparent.SpanID(p.Run,
			traceparent.CallSpan(p.Call[strings.LastIndexByte(p.Call, '/')+1:]))
	}
	return t
}

// ends reports whether a span ends with an event.
func ends(e api.Event) bool {
	switch e.Type {
	case api.EventRunCompleted, api.EventRunFailed, api.EventRunCancelled:
		return true
	}
	return e.Record != nil || e.Step != nil && e.Timing != nil
}

// of returns the span that ends with an event. s is the summary of the run at that event.
func (t *tree) of(e api.Event, s history.Summary) *tracepb.Span {
	switch {
	case e.Record != nil:
		return t.call(*e.Record, s)
	case e.Step != nil:
		return t.step(e, s)
	}
	return t.whole(e, s)
}

// span returns a span with the common fields.
func (t *tree) span(name, part string, kind tracepb.Span_SpanKind,
	from, to time.Time) *tracepb.Span {
	parent := t.parent
	if part != "" {
		parent = traceparent.SpanID(t.run, "")
	}
	return &tracepb.Span{
		TraceId:           t.trace,
		SpanId:            traceparent.SpanID(t.run, part),
		ParentSpanId:      parent,
		Name:              name,
		Kind:              kind,
		StartTimeUnixNano: nanos(from),
		EndTimeUnixNano:   max(nanos(from), nanos(to)),
	}
}

func nanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

// whole returns the span of a run.
func (t *tree) whole(e api.Event, s history.Summary) *tracepb.Span {
	operation, name := map[history.RunKind]string{history.RunAgent: "invoke_agent",
		history.RunPlan: "invoke_workflow"}[s.Kind], s.Name
	span := t.span(strings.TrimSpace(cmp.Or(operation, "call")+" "+name), "",
		tracepb.Span_SPAN_KIND_INTERNAL, s.Started, s.Closed)
	a := attributes{}
	a.text("gen_ai.operation.name", operation)
	switch s.Kind {
	case history.RunAgent:
		a.text("gen_ai.agent.name", name)
	case history.RunPlan:
		a.text("gen_ai.workflow.name", name)
	}
	a.model(s)
	a.usage(s.Usage)
	a.text("switchyard.kind", string(s.Kind))
	a.text("switchyard.status", string(s.Status))
	a.text("switchyard.workflow_id", s.WorkflowID)
	a.text("switchyard.run_id", s.Run)
	if s.Result != nil {
		a.text("switchyard.outcome", string(s.Result.Outcome))
		a.text("switchyard.limit", s.Result.Limit)
	}
	a.number("switchyard.turns", s.Usage.Turns)
	a.number("switchyard.calls", s.Usage.Calls)
	a.number("switchyard.calls.failed", s.Usage.Failed)
	a.real("switchyard.cost", s.Usage.Cost)
	if e.Type != api.EventRunCompleted {
		kind := cmp.Or(string(e.FailureType), string(s.Status))
		t.fail(span, &a, kind, e.Failure)
	}
	span.Events, span.Attributes = failedSteps(e), a.list
	return span
}

// failedSteps returns events for the model steps that failed for good before the next step or the
// end of the run.
func failedSteps(e api.Event) (events []*tracepb.Span_Event) {
	for _, f := range e.StepFailures {
		a := attributes{}
		a.number("switchyard.turn", f.Turn)
		a.text("error.type", f.Type)
		a.timing(f.Timing)
		events = append(events, &tracepb.Span_Event{
			TimeUnixNano: nanos(f.Closed),
			Name:         "switchyard.step_failed",
			Attributes:   a.list,
		})
	}
	return events
}

// step returns the span of a model step with all its attempts.
func (t *tree) step(e api.Event, s history.Summary) *tracepb.Span {
	from := e.Timing.Scheduled
	span := t.span(strings.TrimSpace("chat "+s.Model),
		fmt.Sprintf("step %d %d", e.Turn, from.UnixNano()), tracepb.Span_SPAN_KIND_CLIENT, from,
		cmp.Or(e.Timing.Closed, e.Time))
	a := attributes{}
	a.text("gen_ai.operation.name", "chat")
	a.model(s)
	a.text("gen_ai.response.model", e.Step.Model)
	if e.Step.Stop != "" {
		a.texts("gen_ai.response.finish_reasons", string(e.Step.Stop))
	}
	a.usage(e.Step.Usage)
	a.number("switchyard.turn", e.Turn)
	a.timing(*e.Timing)
	if t.Content {
		a.text("gen_ai.output.messages", said(*e.Step))
	}
	span.Events = append(failedSteps(e), t.attempts(*e.Timing)...)
	span.Attributes = a.list
	return span
}

// call returns the span of a call, from its scheduling to its end, with all its attempts. The span
// of a refused call has no duration. That of a call with a traceparent of its own is in the trace
// of the one who asked for it.
func (t *tree) call(r api.Record, s history.Summary) *tracepb.Span {
	span := t.span("execute_tool "+r.Tool, traceparent.CallSpan(r.CallID),
		tracepb.Span_SPAN_KIND_INTERNAL, cmp.Or(r.Scheduled, r.Closed), r.Closed)
	if caller, ok := traceparent.Parse(r.Trace); ok {
		span.TraceId, span.ParentSpanId = caller.Trace, caller.Span
	}
	a := attributes{}
	if m := r.MCP; m != nil {
		a.mcp(*m)
		if span.Kind = tracepb.Span_SPAN_KIND_CLIENT; s.Kind == history.RunSession {
			span.Kind = tracepb.Span_SPAN_KIND_SERVER
		}
	}
	a.text("gen_ai.operation.name", "execute_tool")
	a.text("gen_ai.tool.name", r.Tool)
	a.text("gen_ai.tool.call.id", r.CallID)
	a.text("gen_ai.tool.type", "function")
	a.text("gen_ai.conversation.id", r.Conversation)
	if s.Kind == history.RunAgent {
		a.text("gen_ai.agent.name", s.Name)
	}
	a.record(r)
	a.timing(r.Timing)
	if t.Content {
		a.text("gen_ai.tool.call.arguments", string(r.Arguments))
		if r.Result != nil {
			a.text("gen_ai.tool.call.result", string(r.Result.Output))
		}
	}
	span.Events = append(t.attempts(r.Timing), t.approval(r.Approval)...)
	if r.Error != nil {
		t.fail(span, &a, string(r.Error.Type), r.Error.Message)
	}
	span.Attributes = a.list
	return span
}

// fail marks a span as failed.
func (t *tree) fail(span *tracepb.Span, a *attributes, kind, message string) {
	span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
	if t.Content {
		span.Status.Message = strings.ToValidUTF8(message, "\uFFFD")
	}
	a.text("error.type", kind)
}

// attempts returns events for the last attempt of a call or step that was retried: its start and
// why it was necessary.
func (t *tree) attempts(timing api.Timing) []*tracepb.Span_Event {
	if timing.Started.IsZero() {
		return nil
	}
	a := attributes{}
	a.number("switchyard.attempt", timing.Attempts)
	name := "switchyard.started"
	if timing.Attempts > 1 {
		name = "switchyard.retried"
	}
	if t.Content {
		a.text("exception.message", timing.LastFailure)
	}
	return []*tracepb.Span_Event{
		{TimeUnixNano: nanos(timing.Started), Name: name, Attributes: a.list},
	}
}

// approval returns the event of a person's decision.
func (t *tree) approval(d *api.Decided) []*tracepb.Span_Event {
	if d == nil || d.Decision == "" {
		return nil
	}
	a := attributes{}
	a.text("switchyard.approval.decision", string(d.Decision))
	a.text("switchyard.approval.by", d.By)
	a.text("switchyard.approval.auth", string(d.Auth))
	if t.Content {
		a.text("switchyard.approval.reason", d.Reason)
	}
	return []*tracepb.Span_Event{
		{TimeUnixNano: nanos(d.At), Name: "switchyard.approval", Attributes: a.list},
	}
}
