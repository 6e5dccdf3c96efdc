package traces

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/test/histories"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spansOf returns the spans of a recorded history of one part, of audit or of workflows.
func spansOf(t *testing.T, name string, o Options) []*tracepb.Span {
	t.Helper()
	path := filepath.Join("..", "testdata", name+".1")
	if _, err := os.Stat(path + histories.Extension); err != nil {
		path = filepath.Join("..", "..", "workflows", "testdata", "histories", name)
	}
	file, err := histories.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	recorded, err := history.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	d := history.NewDeriver("", "")
	var spans []*tracepb.Span
	var place *tree
	for _, h := range recorded {
		events, err := d.Add(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if place == nil {
				place = newTree(d.Summary(), "root", o)
			}
			if ends(e) {
				spans = append(spans, place.of(e, d.Summary()))
			}
		}
	}
	return spans
}

// values returns a span's attributes as texts.
func values(list []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		if text, ok := a.GetValue().GetValue().(*commonpb.AnyValue_StringValue); ok {
			all[a.GetKey()] = text.StringValue
		} else {
			_, all[a.GetKey()], _ = strings.Cut(strings.ReplaceAll(a.GetValue().String(), " ", ""),
				":")
		}
	}
	return all
}

// find returns the span of a name; among several calls, the one with the id.
func find(t *testing.T, spans []*tracepb.Span, name, call string) *tracepb.Span {
	t.Helper()
	i := slices.IndexFunc(spans, func(s *tracepb.Span) bool {
		return s.GetName() == name &&
			(call == "" || values(s.GetAttributes())["gen_ai.tool.call.id"] == call)
	})
	if i < 0 {
		t.Fatalf("there is no span %q %s", name, call)
	}
	return spans[i]
}

// expect checks some attributes of a span; "" means that the attribute is absent.
func expect(t *testing.T, span *tracepb.Span, want map[string]string) {
	t.Helper()
	got := values(span.GetAttributes())
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: %s is %q, want %q", span.GetName(), key, got[key], value)
		}
	}
}

// Each run, model step and call is one span, named by the conventions, below the run's span, with
// its times, its failure and its attempts, and without content.
func TestSpans_CoverRunsStepsAndCalls(t *testing.T) {
	spans := spansOf(t, "agent", Options{})
	if len(spans) != 1+3+10 {
		t.Errorf("%d spans, want a run, 3 steps and 10 calls", len(spans))
	}
	run := find(t, spans, "invoke_agent tester", "")
	expect(t, run, map[string]string{
		"gen_ai.operation.name":      "invoke_agent",
		"gen_ai.agent.name":          "tester",
		"gen_ai.provider.name":       "scripted",
		"gen_ai.request.model":       "scripted",
		"gen_ai.conversation.id":     "agent",
		"gen_ai.usage.output_tokens": "33",
		"switchyard.outcome":         "answered",
		"switchyard.calls.failed":    "7",
		"error.type":                 "",
	})
	step := find(t, spans, "chat scripted", "")
	expect(t, step, map[string]string{
		"gen_ai.operation.name":  "chat",
		"gen_ai.provider.name":   "scripted",
		"gen_ai.output.messages": "",
		"switchyard.turn":        "1",
		"switchyard.lane":        "general",
	})
	if step.GetKind() != tracepb.Span_SPAN_KIND_CLIENT ||
		run.GetKind() != tracepb.Span_SPAN_KIND_INTERNAL {
		t.Errorf("kinds: %v, %v", step.GetKind(), run.GetKind())
	}
	flaky := find(t, spans, "execute_tool flaky", "2.2")
	expect(t, flaky, map[string]string{
		"gen_ai.operation.name":      "execute_tool",
		"gen_ai.tool.name":           "flaky",
		"gen_ai.tool.type":           "function",
		"switchyard.attempts":        "2",
		"error.type":                 "",
		"gen_ai.tool.call.arguments": "",
		"gen_ai.tool.call.result":    "",
	})
	if e := flaky.GetEvents(); len(e) != 1 || e[0].GetName() != "switchyard.retried" ||
		e[0].GetTimeUnixNano() < flaky.GetStartTimeUnixNano() ||
		len(e[0].GetAttributes()) != 1 {
		t.Errorf("its attempts: %v", e)
	}
	broken := find(t, spans, "execute_tool broken", "2.1")
	expect(t, broken,
		map[string]string{"error.type": "execution_error", "switchyard.status": "failed"})
	if s := broken.GetStatus(); s.GetCode() != tracepb.Status_STATUS_CODE_ERROR ||
		s.GetMessage() != "" {
		t.Errorf("its status: %v", s)
	}
	refused := find(t, spans, "execute_tool nosuch", "1.3")
	expect(t, refused,
		map[string]string{"error.type": "tool_not_found", "switchyard.status": "refused"})
	ids := map[string]bool{}
	for _, s := range spans {
		ids[string(s.GetSpanId())] = true
		if len(s.GetTraceId()) != 16 || len(s.GetSpanId()) != 8 || s.GetStartTimeUnixNano() == 0 ||
			s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
			t.Errorf("%s: ids or times are wrong: %v", s.GetName(), s)
		}
		if s != run && string(s.GetParentSpanId()) != string(run.GetSpanId()) {
			t.Errorf("%s is not below the run", s.GetName())
		}
	}
	if len(ids) != len(spans) {
		t.Errorf("%d spans have %d ids", len(spans), len(ids))
	}
	for i, again := range spansOf(t, "agent", Options{}) {
		if !proto.Equal(again, spans[i]) {
			t.Errorf("made once more, %s is another span", again.GetName())
		}
	}
}

// With content, spans have arguments, results and reasons.
func TestSpans_WithContentHideSensitiveValues(t *testing.T) {
	spans := spansOf(t, "agent", Options{Content: true})
	expect(
		t,
		find(t, spans, "execute_tool echo", "1.1"),
		map[string]string{
			"gen_ai.tool.call.arguments": `{"text":"a"}`,
			"gen_ai.tool.call.result":    `"a"`,
		},
	)
	if m := find(t, spans, "execute_tool broken",
		"2.1").GetStatus().GetMessage(); m != "it is broken" {
		t.Errorf("the reason is %q", m)
	}
	messages := values(find(t, spans, "chat scripted", "").GetAttributes())["gen_ai.output.messages"]
	if messages != `[{"finish_reason":"tool_calls","parts":[{"arguments":"{\"text\":\"a\"}","id":"1.1","name":"echo","type":"tool_call"},{"arguments":"{\"password\":\"***\",\"user\":\"u\"}","id":"1.2","name":"login","type":"tool_call"},{"arguments":"{}","id":"1.3","name":"nosuch","type":"tool_call"},{"arguments":"{\"txt\":1}","id":"1.4","name":"echo","type":"tool_call"},{"arguments":"{\"text\":","id":"1.5","name":"echo","type":"tool_call"},{"arguments":"\"***\"","id":"1.6","name":"login","type":"tool_call"}],"role":"assistant"}]` {
		t.Errorf("the messages of the model are %s", messages)
	}
	for _, s := range spans {
		if strings.Contains(s.String(), "secret") {
			t.Errorf("a secret is shown: %v", s)
		}
	}
}

// The runs are plans, direct calls, failed runs and those of sub-agents.
func TestSpans_CoverEveryKindOfRun(t *testing.T) {
	expect(
		t,
		find(t, spansOf(t, "plan", Options{}), "invoke_workflow steps", ""),
		map[string]string{
			"gen_ai.operation.name":  "invoke_workflow",
			"gen_ai.workflow.name":   "steps",
			"gen_ai.conversation.id": "talk",
		},
	)
	expect(t, find(t, spansOf(t, "direct", Options{}), "call login", ""),
		map[string]string{"gen_ai.operation.name": "", "switchyard.kind": "direct"})
	expect(t, find(t, spansOf(t, "model_failed", Options{}), "invoke_agent tester", ""),
		map[string]string{"error.type": "model_failed"})
	expect(t, find(t, spansOf(t, "terminated", Options{}), "invoke_agent tester", ""),
		map[string]string{"error.type": "terminated"})
	caller := find(t, spansOf(t, "sub_agents", Options{}), "execute_tool wide", "1.1")
	below := spansOf(t, "sub_agents_1.1", Options{})
	run := below[len(below)-1]
	if !strings.HasPrefix(run.GetName(), "invoke_agent ") ||
		string(run.GetParentSpanId()) != string(caller.GetSpanId()) ||
		string(run.GetTraceId()) != string(caller.GetTraceId()) {
		t.Errorf("the sub-agent's run %s is not below its call", run.GetName())
	}
}

// A model step that failed for good belongs to the step that replaced it, or to the run that it
// ended, as an activity and inline.
func TestFailedSteps_AreReportedOnce(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"model_failed": {"switchyard.turn": "2", "switchyard.attempts": "1",
			"switchyard.lane": "general", "below": "invoke_agent tester"},
		"inline_model_failed": {"switchyard.lane": "inline", "below": "invoke_agent tester"},
		"agent_overflow":      {"error.type": api.ModelOverflow, "below": "chat"},
	} {
		t.Run(name, func(t *testing.T) {
			var found []map[string]string
			for _, span := range spansOf(t, name, Options{}) {
				for _, e := range span.GetEvents() {
					if e.GetName() == "switchyard.step_failed" && e.GetTimeUnixNano() > 0 {
						attributes := values(e.GetAttributes())
						attributes["below"] = span.GetName()
						found = append(found, attributes)
					}
				}
			}
			if len(found) == 0 || found[0]["error.type"] == "" {
				t.Fatalf("the failed steps: %v", found)
			}
			for key, value := range want {
				if found[0][key] != value {
					t.Errorf("%s is %q, want %q", key, found[0][key], value)
				}
			}
		})
	}
}

func TestSpans_BelongToTheTraceOfTheCaller(t *testing.T) {
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	noTrace := strings.Repeat("0", 32)
	place := newTree(history.Summary{Run: "r", Trace: "00-" + trace + "-" + parent + "-01"}, "r",
		Options{})
	span := place.of(api.Event{Type: api.EventRunCompleted}, history.Summary{})
	if hex.EncodeToString(span.GetTraceId()) != trace ||
		hex.EncodeToString(span.GetParentSpanId()) != parent {
		t.Errorf("the span is %x below %x", span.GetTraceId(), span.GetParentSpanId())
	}
	for _, none := range []string{"something else", "00-" + noTrace + "-" + parent + "-01", "00-" +
		trace + "-" + noTrace[:16] + "-01"} {
		own := newTree(history.Summary{Run: "r"}, "r", Options{})
		if other := newTree(history.Summary{Run: "r", Trace: none}, "r", Options{}); len(
			other.parent) != 0 ||
			!bytes.Equal(other.trace, own.trace) {
			t.Errorf("%s, which is no trace, was taken for one: %x", none, other.trace)
		}
	}
}

// The span of a call that an MCP client asked for is below the client's span, and has the
// attributes of the conventions.
func TestSpans_OfMCPCallsFollowTheConventions(t *testing.T) {
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for name, test := range map[string]struct {
		run  history.RunKind
		mcp  api.MCPMessage
		kind tracepb.Span_SpanKind
		want map[string]string
	}{
		"of a client": {history.RunSession,
			api.MCPMessage{Session: "S", Protocol: "2025-11-25", Transport: api.TransportHTTP},
			tracepb.Span_SPAN_KIND_SERVER, map[string]string{"mcp.method.name": "tools/call",
				"mcp.session.id": "S", "mcp.protocol.version": "2025-11-25",
				"network.transport": "tcp", "gen_ai.tool.name": "note"}},
		"of a run": {history.RunAgent, api.MCPMessage{Transport: api.TransportStdio},
			tracepb.Span_SPAN_KIND_CLIENT, map[string]string{"mcp.method.name": "tools/call",
				"mcp.session.id": "", "mcp.protocol.version": "", "network.transport": "pipe"}},
	} {
		t.Run(name, func(t *testing.T) {
			summary := history.Summary{Run: "r", Kind: test.run}
			span := newTree(summary, "r", Options{}).of(api.Event{Record: &api.Record{CallID: "c",
				Tool: "note", Trace: "00-" + trace + "-" + parent + "-01", MCP: &test.mcp}}, summary)
			if hex.EncodeToString(span.GetTraceId()) != trace || span.GetKind() != test.kind ||
				hex.EncodeToString(span.GetParentSpanId()) != parent {
				t.Errorf("the span: %v", span)
			}
			got := values(span.GetAttributes())
			for key, want := range test.want {
				if got[key] != want {
					t.Errorf("%s is %q, want %q", key, got[key], want)
				}
			}
		})
	}
}

// A line is JSON of OTLP: ids in hexadecimal, kinds as numbers, times as texts.
func TestWriteJSON_WritesOTLP(t *testing.T) {
	var b strings.Builder
	if err := WriteJSON(&b, spansOf(t, "plan", Options{})); err != nil {
		t.Fatal(err)
	}
	var line struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano string
					Kind                                                   int
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(b.String()), &line); err != nil ||
		strings.Count(b.String(), "\n") != 1 {
		t.Fatalf("%v in %s", err, b.String())
	}
	for _, s := range line.ResourceSpans[0].ScopeSpans[0].Spans {
		if trace, err := hex.DecodeString(s.TraceID); err != nil || len(trace) != 16 ||
			len(s.SpanID) != 16 ||
			s.Kind == 0 ||
			s.StartTimeUnixNano == "" {
			t.Errorf("the span %+v", s)
		}
	}
}

// The span of a call has who decided and how, the reason only with content, and that it was
// batched.
func TestDecisions_AreAttributesOfTheCall(t *testing.T) {
	for _, content := range []bool{false, true} {
		decided := map[string]string{}
		for _, span := range spansOf(t, "agent_approvals", Options{Content: content}) {
			for _, e := range span.GetEvents() {
				if e.GetName() == "switchyard.approval" {
					attributes := values(e.GetAttributes())
					decided[values(
						span.GetAttributes())["gen_ai.tool.call.id"]] = strings.TrimSpace(
						attributes["switchyard.approval.by"] + " " +
							attributes["switchyard.approval.decision"] + " " +
							attributes["switchyard.approval.reason"],
					)
				}
			}
		}
		want := map[string]string{"1.1": "ada edit", "1.2": "bob deny", "1.3": "timeout"}
		if content {
			want["1.2"] += " no"
		}
		if !maps.Equal(decided, want) {
			t.Errorf("with content %v: %v, want %v", content, decided, want)
		}
	}
	expect(t, find(t, spansOf(t, "agent_batched", Options{}), "execute_tool append_all", "1.1"),
		map[string]string{"switchyard.batched": "true"})
}
