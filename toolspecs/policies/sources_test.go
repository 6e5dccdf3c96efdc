package policies

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// Functions find where the parts of a value occurred, and the decision has it without the value.
func TestSources_OfValues(t *testing.T) {
	for _, c := range []struct{ expression, want, sources string }{
		{"from_people(args.to)", "true", "args.to: prompt"},
		{"from_people(args.amount)", "true", "args.amount: prompt (normalised)"},
		{"from_people(args.cc)", "false",
			"args.cc[0]: message (normalised)\nargs.cc[1]: result 1.2 mail [untrusted]"},
		{"free_of(args.cc, 'untrusted')", "false", "args.cc[0]: message (normalised)\n" +
			"args.cc[1]: result 1.2 mail [untrusted]"},
		{"free_of(args.cc, 'private')", "true", "args.cc[0]: message (normalised)\n" +
			"args.cc[1]: result 1.2 mail [untrusted]"},
		{"sources(args.to).exists(s, s.kind == 'prompt' || !('untrusted' in s.labels))", "true",
			"args.to: prompt"},
		{"sources('t-1').exists(s, s.kind == 'result' && s.call == '1.1' && s.tool == 'pay' && " +
			"s.match == 'exact')", "true", "value: result 1.1 pay"},
		{"sources('99.50').all(s, s.tool == 'mail')", "true",
			"value: result 1.2 mail [untrusted] (normalised)"},
		{"sources('de 1234').all(s, s.kind == 'variable' && s.name == 'account')", "true",
			"value: variable account (normalised)"},
		{"sources('ops@example.com').all(s, s.kind == 'instructions')", "true",
			"value: instructions"},
		{"sources('mallory').all(s, s.kind == 'nowhere' && 'untrusted' in s.labels)", "true",
			"value: nowhere [untrusted]"},
		{"free_of('mallory', 'untrusted')", "false", "value: nowhere [untrusted]"},
		{"sources([]).size() == 0 && sources('').size() == 0 && free_of(true, 'untrusted')", "true",
			""},
		{"free_of(args.?bcc, 'untrusted')", "true", ""},
		{"free_of(args.bcc, 'untrusted')", "at 1:13 of the expression; the reason may quote " +
			"contents of the run and is left out", ""},
		{"calls.exists(c, c.tool == 'pay' && free_of(c.args.to, 'untrusted'))", "true",
			"c.args.to: prompt"},
	} {
		set := Of(api.PolicyRule{Name: "r", When: c.expression, Then: api.PolicyWarn})
		decided := Decide(past(), []*Set{set}, nil)
		if got := sourced(decided.Sources); got != c.sources {
			t.Errorf("%s has the sources\n%s\nwant\n%s", c.expression, got, c.sources)
		}
		if got := evaluate(t, c.expression, past()); got != c.want {
			t.Errorf("%s: %s, want %s", c.expression, got, c.want)
		}
	}
}

// A value is found as a word, in other forms of the same characters, and as a number.
func TestSources_MatchWordsFormsAndNumbers(t *testing.T) {
	for _, c := range []struct {
		text, value string
		want        api.Match
	}{
		{"mail ada@example.com.", "ada@example.com", api.MatchExact},
		{"mail <ada@example.com>", "ada@example.com", api.MatchExact},
		{"mailto:ada@example.com", "ada@example.com", api.MatchExact},
		{"mail x.ada@example.com", "ada@example.com", ""},
		{"mail x-ada@example.com", "ada@example.com", ""},
		{"mail ada@example.com.evil.org", "ada@example.com", ""},
		{"ada@example.community", "ada@example.com", ""},
		{"nada, ada", "ada", api.MatchExact},
		{"https://tracker/issues/123", "123", api.MatchExact},
		{"see 1234", "123", ""},
		{"Mail ADA@example.com", "ada@Example.com", api.MatchNormalised},
		{"the  quarterly\n report", "quarterly report", api.MatchNormalised},
		{"Cafe\u0301", "caf\u00e9", api.MatchNormalised},
		{"\uff41\uff44\uff41 is here", "ada", api.MatchNormalised},
		{"a\u200bda", "ada", api.MatchNormalised},
		{"\u0430da", "ada", ""}, // a Cyrillic letter is another one
		{"pay 1,250.50 euros", "1250.5", api.MatchNormalised},
		{"pay 1.250,50 euros", "1250.5", api.MatchNormalised},
		{"pay 1 250 euros", "1250", api.MatchNormalised},
		{"pay 12 50 euros", "50", api.MatchExact},
		{"pay 007", "7", api.MatchNormalised},
		{"between -3 and 5", "-3", api.MatchExact},
		{"it is -3.0", "-3", api.MatchNormalised},
		{"it is -3.0", "3", ""},
		{"pay 1250", "125", ""},
		{"send it to Ada", "the same as before", ""},
	} {
		parts := partsOf("x", c.value)
		if got := parts[0].within(newPassage(c.text)); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.value, c.text, got, c.want)
		}
	}
	if got := (part{"x", "5", "5", "5"}).within(newPassage(textOf(map[string]any{"a": 4.0,
		"b": []any{int64(5), nil}}))); got != api.MatchExact {
		t.Errorf("a number in JSON: %q", got)
	}
	if got := (part{"x", "ab cd", "", "ab cd"}).within(newPassage(textOf([]any{"ab", "cd"}))); got != "" {
		t.Errorf("across two texts: %q", got)
	}
}

// Looking for values is bounded; beyond it the rule denies.
func TestSources_AreBounded(t *testing.T) {
	f := past()
	many, _ := json.Marshal(map[string]any{"to": make([]int, maxParts+1),
		"long": strings.Repeat("x", maxPart+1)})
	f.Arguments = many
	if got := evaluate(t, "from_people(args.to)", f); got != string(errParts) {
		t.Errorf("many parts: %s", got)
	}
	if got := evaluate(t, "sources(args.long)[0].kind == 'nowhere'", f); got != "true" {
		t.Errorf("a long part: %s", got)
	}
	f.Statements = nil
	for range 80 {
		f.Statements = append(f.Statements, &api.Statement{Kind: api.SourceMessage,
			Text: strings.Repeat("y", 1<<20)})
	}
	if got := evaluate(t, "from_people('z')", f); got != string(errWork) {
		t.Errorf("much text: %s", got)
	}
	f = past()
	for i := range 30 {
		f.Earlier = append(f.Earlier, &api.EarlierCall{ID: fmt.Sprint(i), Tool: "mail",
			Text: "ada@example.com", Status: api.CallCompleted})
	}
	set := Of(api.PolicyRule{Name: "r", Then: api.PolicyDeny,
		When: "sources(args.to).size() == 31 && sources(args).size() > 1"})
	decided := Decide(f, []*Set{set}, nil)
	if len(decided.Met) != 1 || len(decided.Sources[0].Sources) != maxRecorded {
		t.Errorf("got %+v", decided)
	}
}
