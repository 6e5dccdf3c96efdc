package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// jsonValues draws JSON texts with blanks, escapes and every kind of value, as tools return them.
func jsonValues() *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage { return json.RawMessage(drawJSON(t, 3)) })
}

func drawJSON(t *rapid.T, depth int) string {
	blank := func() string {
		return rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r"}).Draw(t,
			"blank")
	}
	kinds := 3
	if depth > 0 {
		kinds = 5
	}
	var text string
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		text = rapid.SampledFrom([]string{"null", "true", "false", "0", "-1.5e30",
			"12345678901234567890"}).Draw(t, "scalar")
	case 1:
		text = drawString(t)
	case 2:
		data, err := json.Marshal(rapid.String().Draw(t, "string"))
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	case 3:
		var elements []string
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			elements = append(elements, drawJSON(t, depth-1))
		}
		text = "[" + blank() + strings.Join(elements, ",") + blank() + "]"
	default:
		var members []string
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			members = append(members, blank()+drawString(t)+blank()+":"+drawJSON(t, depth-1))
		}
		text = "{" + strings.Join(members, ",") + blank() + "}"
	}
	return blank() + text + blank()
}

// drawString draws a JSON string from parts that encoders and decoders treat specially.
func drawString(t *rapid.T) string {
	segments := []string{"a", "<", ">", "&", `\u003c`, `\u003C`, `\\u003c`, `\\`, `\"`, `\/`, `\n`,
		"\u2028", `\u2028`, "\u2029", `\u2029`, "é", "😀", `\ud83d\ude00`, `\ud800`, "\xff", "u003e",
		" "}
	return `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(segments), 0, 6).Draw(t, "pieces"),
		"") + `"`
}

// A result has the same text in the process that created it and in the workflow that reads it from
// history: digests of the conversation depend on it.
func TestPlainText_SurvivesEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := jsonValues().Draw(t, "value")
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatalf("the generator made no JSON: %q: %v", value, err)
		}
		if before, after := PlainText(value), PlainText(encoded); before != after {
			t.Fatalf("%q reads %q before encoding and %q after", value, before, after)
		}
	})
}

// A string is its content, other values are compact, and escapes of the encoder are removed.
func TestPlainText_IsReadableByModels(t *testing.T) {
	tests := []struct{ value, want string }{
		{`"a \"quoted\" <word>"`, `a "quoted" <word>`},
		{" \n\"blanks around\" ", "blanks around"},
		{`{"a": 1, "b": [true, null]}`, `{"a":1,"b":[true,null]}`},
		{`{"a":"\u003cb\u003e \u0026"}`, `{"a":"<b> &"}`},
		{`{"a":"\\u003c"}`, `{"a":"\\u003c"}`},
		{`{"a":"\u00e9"}`, `{"a":"\u00e9"}`},
		{`["\u2028"]`, "[\"\u2028\"]"},
		{`12345678901234567890`, `12345678901234567890`},
		{`not JSON <`, `not JSON <`},
		{`"cut off`, `"cut off`},
		{``, ``},
	}
	for _, tt := range tests {
		if got := PlainText(json.RawMessage(tt.value)); got != tt.want {
			t.Errorf("PlainText(%s) = %q, want %q", tt.value, got, tt.want)
		}
	}
}

func TestResultForModel_AppendsNotes(t *testing.T) {
	r := Result{Output: json.RawMessage(`{"n": 1}`)}
	if got := r.ForModel(); got != `{"n":1}` {
		t.Errorf("without notes: %q", got)
	}
	r.Notes = []string{"cut at 8 KB", "deprecated"}
	if got, want := r.ForModel(), "{\"n\":1}\n[note: cut at 8 KB; deprecated]"; got != want {
		t.Errorf("with notes: %q, want %q", got, want)
	}
}

// Outside of a call there is no context.
func TestContextOf_ReturnsTheCall(t *testing.T) {
	if c, ok := ContextOf(t.Context()); ok {
		t.Errorf("a context outside of a call holds %+v", c)
	}
	want := CallContext{CallID: "3.1", Tool: "echo", Attempt: 2, Key: "r/3.1",
		Origin: Origin{Run: "r", Caller: Caller{Type: CallerAgent, ID: "a"}}}
	got, ok := ContextOf(WithCallContext(WithCallContext(t.Context(), CallContext{CallID: "outer"}),
		want))
	if !ok || got.CallID != want.CallID || got.Run != "r" || !reflect.DeepEqual(got.Caller, want.Caller) ||
		got.Attempt != 2 || got.Key != want.Key {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// They are activity ids in histories and keys in other systems.
func TestCallIDs_AreFrozen(t *testing.T) {
	for got, want := range map[string]string{
		TurnCallID(3, 1):               "3.1",
		TurnStepID(12):                 "turn-12",
		SummaryStepID:                  "summary",
		IdempotencyKey("run-1", "3.1"): "run-1/3.1",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
