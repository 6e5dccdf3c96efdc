package traces

import (
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// attributes are the attributes of a span. Empty and zero values are left out.
type attributes struct{ list []*commonpb.KeyValue }

func (a *attributes) add(key string, value *commonpb.AnyValue) {
	a.list = append(a.list, &commonpb.KeyValue{Key: key, Value: value})
}

func (a *attributes) text(key, value string) {
	if value != "" {
		a.add(key, textValue(value))
	}
}

func textValue(text string) *commonpb.AnyValue {
	return &commonpb.AnyValue{
		Value: &commonpb.AnyValue_StringValue{StringValue: strings.ToValidUTF8(text, "\uFFFD")},
	}
}

func (a *attributes) texts(key string, values ...string) {
	list := &commonpb.ArrayValue{}
	for _, v := range values {
		list.Values = append(list.Values, textValue(v))
	}
	a.add(key, &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}})
}

func (a *attributes) number(key string, value int) {
	if value != 0 {
		a.add(key, &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(value)}})
	}
}

func (a *attributes) real(key string, value float64) {
	if value != 0 {
		a.add(key, &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: value}})
	}
}

func (a *attributes) yes(key string, value bool) {
	if value {
		a.add(key, &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}})
	}
}

// model adds the model and the conversation of an agent's run.
func (a *attributes) model(s history.Summary) {
	a.text("gen_ai.provider.name", string(s.Provider))
	a.text("gen_ai.request.model", s.Model)
	a.text("gen_ai.conversation.id", s.Conversation)
}

func (a *attributes) usage(u api.Usage) {
	a.number("gen_ai.usage.input_tokens", u.InputTokens)
	a.number("gen_ai.usage.output_tokens", u.OutputTokens)
	a.number("gen_ai.usage.cache_read.input_tokens", u.CachedTokens)
	a.number("gen_ai.usage.cache_creation.input_tokens", u.WrittenTokens)
}

// timing adds where and how long a call or a step ran.
func (a *attributes) timing(t api.Timing) {
	a.text("switchyard.lane", t.Lane)
	a.number("switchyard.attempts", t.Attempts)
	a.text("switchyard.worker", t.Worker)
	a.real("switchyard.queue_wait_ms", 1e3*t.QueueWait.Std().Seconds())
	a.real("switchyard.duration_ms", 1e3*t.Duration.Std().Seconds())
}

// mcp adds the attributes of the message tools/call of a call.
func (a *attributes) mcp(m api.MCPMessage) {
	a.text("mcp.method.name", "tools/call")
	a.text("mcp.session.id", m.Session)
	a.text("mcp.protocol.version", m.Protocol)
	a.text("network.transport", m.Transport)
}

// record adds the attributes of a call that are Switchyard's own.
func (a *attributes) record(r api.Record) {
	a.text("switchyard.status", string(r.Status))
	a.text("switchyard.phase", string(r.Phase))
	a.text("switchyard.tool.version", r.Version)
	a.text("switchyard.priority", string(r.Priority))
	a.text("switchyard.path", r.Path)
	a.number("switchyard.turn", r.Turn)
	a.number("switchyard.tokens.arguments", r.ArgumentTokens())
	a.number("switchyard.tokens.result", r.ResultTokens)
	a.text("switchyard.purpose", string(r.Purpose))
	a.text("switchyard.target_call_id", r.TargetCallID)
	a.yes("switchyard.batched", r.Batched)
	a.yes("switchyard.dry_run", r.DryRun)
	a.text("switchyard.workflow_id", r.WorkflowID)
	a.text("switchyard.run_id", r.Run)
}

// said returns the message of a model in the form of the conventions: one message of parts.
func said(step api.ModelResponse) string {
	type part map[string]any
	var parts []part
	if step.Message.Text != "" {
		parts = append(parts, part{"type": "text", "content": step.Message.Text})
	}
	for _, c := range step.Message.Calls {
		parts = append(parts,
			part{"type": "tool_call", "id": c.ID, "name": c.Tool, "arguments": c.Arguments})
	}
	text, err := jsonvalue.Encode(
		[]map[string]any{{"role": "assistant", "parts": parts, "finish_reason": string(step.Stop)}})
	if err != nil {
		return ""
	}
	return string(text)
}
