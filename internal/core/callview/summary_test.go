package callview

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/switchyard/switchyard/internal/test/cases"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// checkLine fails unless text is valid, fits one line of a terminal, and has at most limit
// characters.
func checkLine(t *testing.T, text string, limit int) {
	t.Helper()
	if n := utf8.RuneCountInString(text); n > limit || !utf8.ValidString(text) {
		t.Errorf("%q has %d characters, at most %d are allowed, or is not valid UTF-8", text, n, limit)
	}
	for _, r := range text {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			t.Errorf("%q holds %U", text, r)
		}
	}
}

// No string breaks a summary, defeats redaction, or changes between a tool and the model. A secret
// that is the name of a member is hidden there, too, so none of them is.
func TestNaughtyStrings_StayIntact(t *testing.T) {
	for _, s := range cases.NaughtyStrings(t) {
		arguments, err := json.Marshal(map[string]string{"value": s, "secret": "sec-" + s + "-ret"})
		if err != nil {
			t.Fatal(err)
		}
		checkLine(t, Line("tool", arguments, []string{"secret"}), maxLine)
		checkLine(t, display.Shorten(s, 20), 20)
		var redacted map[string]string
		if err := json.Unmarshal(redact(arguments, []string{"secret"}), &redacted); err != nil {
			t.Fatal(err)
		}
		if redacted["secret"] != redaction.Word || redacted["value"] != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%q: redacted to %q", s, redacted)
		}
		value, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := jsonvalue.Plain(value); got != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%q reads %q", s, got)
		}
	}
}

// Parameters are in order.
func TestSummary_IsOneLineWithoutSecrets(t *testing.T) {
	tests := []struct{ arguments, want string }{
		{`{"path":"docs/a.md","lines":3,"deep":{"b":[1]}}`,
			`read deep={"b":[1]} lines=3 path=docs/a.md`},
		{`{"token":"abc","TOKEN":["abc"],"Token":null}`, `read TOKEN=*** Token=*** token=***`},
		{`{"path":"` + strings.Repeat("x", 50) + `"}`, "read path=" + strings.Repeat("x", 39) +
			"…"},
		{`{"path":"a\nb"}`, "read path=a b"},
		{`{}`, "read"},
		{`["abc"]`, "read"},
		{`{"token":"abc"`, "read"},
		{``, "read"},
	}
	for _, tt := range tests {
		if got := Line("read", json.RawMessage(tt.arguments),
			[]string{"token"}); got != tt.want {
			t.Errorf("Summary(%s) = %q, want %q", tt.arguments, got, tt.want)
		}
	}
}

// Long ones are cut.
func TestRunSummary_IsOneLine(t *testing.T) {
	for _, tt := range []struct{ prompt, want string }{
		{"", "agent lead"},
		{"go\non", "agent lead: go on"},
		{strings.Repeat("x", 100), "agent lead: " + strings.Repeat("x", 77) + "…"},
	} {
		if got := RunLine("agent", "lead", tt.prompt); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// The notation of the arguments does not matter, and arguments without sensitive parameters are
// unchanged.
func TestRedact_HidesSensitiveParameters(t *testing.T) {
	tests := []struct{ arguments, want string }{
		{`{"a":1.50,"token":"abc"}`, `{"a":1.50,"token":"***"}`},
		{`{"token":{"deep":"abc"},"b":"<&>"}`, `{"b":"<&>","token":"***"}`},
		{`{"token":"abc","token":"def"}`, `{"token":"***"}`},
		{`{"TOKEN":"abc"}`, `{"TOKEN":"***"}`},
		{`["abc"]`, `"***"`},
		{`"abc"`, `"***"`},
		{`{"token":"abc"`, `"***"`},
		{`{"token":"abc"}}`, `"***"`},
	}
	for _, tt := range tests {
		if got := string(redact(json.RawMessage(tt.arguments), []string{"token"})); got != tt.want {
			t.Errorf("Redact(%s) = %s, want %s", tt.arguments, got, tt.want)
		}
		if got := string(redact(json.RawMessage(tt.arguments), nil)); got != tt.arguments {
			t.Errorf("Redact(%s) without secrets = %s", tt.arguments, got)
		}
	}
}
