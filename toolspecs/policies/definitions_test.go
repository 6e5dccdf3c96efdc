package policies

import (
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// decoded returns the rules of a file.
func decoded(t *testing.T, file string) *Set {
	t.Helper()
	set, err := Decode("rules.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// ruled returns what rules do to a call, as rule:effect, with the rule that overrules it.
func ruled(f *Facts, sets ...*Set) string {
	var all []string
	for _, a := range checkAll(f, sets...) {
		text := fmt.Sprintf("%s:%s", a.Rule, a.Effect)
		if a.AllowedBy != "" {
			text += "<" + a.AllowedBy
		}
		if a.Failure != "" {
			text += " " + a.Failure
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

const sharedRules = `lists:
  partners: [p.example.com, q.example.com]
  amounts: [5, 7.5]
define:
  # in any order
  leaves: "!partner && 'external_write' in tool.effects"
  partner: partners.exists(p, args.to.lower().endsWith('@' + p))
  large: args.size > 100
policies:
  - {name: leaves, when: leaves, then: deny, message: m}
  - {name: large, when: large, unless: args.size in amounts, then: ask, message: m}
`

// Rules keep their definitions when they are recorded and compiled again.
func TestDefinitions_AreUsedByName(t *testing.T) {
	set := decoded(t, sharedRules)
	for arguments, want := range map[string]string{
		`{"to":"a@P.example.com","size":5}`:    "",
		`{"to":"a@P.example.com","size":500}`:  "large:ask",
		`{"to":"a@r.example.com","size":7.5}`:  "leaves:deny",
		`{"to":"a@q.example.com","size":"9"}`:  "large:deny no such overload",
		`{"size":5}`:                           "leaves:deny no such key: to",
		`{"to":"a@r.example.com","size":1000}`: "leaves:deny, large:ask",
	} {
		f := &Facts{Tool: Tool{Effects: []string{"external_write"}}, Arguments: []byte(arguments)}
		if got := ruled(f, set); got != want {
			t.Errorf("%s: %s, want %s", arguments, got, want)
		}
		if got := ruled(f, NewSet(set.Rules()...)); got != want {
			t.Errorf("%s, compiled again: %s, want %s", arguments, got, want)
		}
	}
	var used []string
	for _, d := range set.Rules()[0].Define {
		used = append(used, d.Name)
	}
	if got := strings.Join(used, " "); got != "partners partner leaves" {
		t.Errorf("the first rule has %s", got)
	}
}

// An expression that several rules use is evaluated once, whatever their number.
func TestDefinitions_AreEvaluatedOncePerCall(t *testing.T) {
	set := decoded(t, sharedRules)
	v := newValues(&Facts{Arguments: []byte(`{"to":"a@b","size":500}`)},
		set.rules[0].condition.adapt)
	for range 3 {
		for i := range set.rules {
			set.rules[i].check(v)
		}
	}
	if len(v.defined) != 3 {
		t.Errorf("%d expressions were evaluated", len(v.defined))
	}
}

// Rules that a run brings can name anything. What is missing or does not compile denies.
func TestDefinitions_FailClosed(t *testing.T) {
	rule := api.PolicyRule{Name: "r", When: "a == 1", Then: api.PolicyWarn, Message: "m"}
	for name, c := range map[string]struct {
		define []api.PolicyDefinition
		want   string
	}{
		"missing": {nil, "r:deny the expression does not compile: at 1:1 of the expression: " +
			"undeclared reference to 'a'"},
		"circular": {[]api.PolicyDefinition{{Name: "a", Expression: "a"}},
			"r:deny a does not compile: at 1:1 of the expression: undeclared reference to 'a'"},
		"no list": {[]api.PolicyDefinition{{Name: "a", Values: []byte(`{}`)}},
			"r:deny a does not compile: the value is not a list"},
		"a name of facts": {[]api.PolicyDefinition{{Name: "args", Expression: "1"},
			{Name: "a", Expression: "1"}}, "r:deny the expression does not compile: at 1:1 of " +
			"the expression: overlapping identifier for name 'args'"},
	} {
		rule.Define = c.define
		if got := ruled(&Facts{}, NewSet(rule)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// They have bounds.
func TestDefinitions_AreBounded(t *testing.T) {
	long := "[" + strings.Repeat("a,", maxValues+1) + "]"
	wide := "[" + strings.Repeat("a", maxDefinedBytes/2) + "]"
	var many strings.Builder
	for i := range maxDefinitions + 1 {
		fmt.Fprintf(&many, "\n  l%d: [a]", i)
	}
	const rules = "\npolicies:\n" +
		"  - {name: a, when: tool.name in l, then: deny, message: m}\n" +
		"  - {name: b, when: tool.name in l, then: deny, message: m}\n"
	for lists, want := range map[string]string{
		"\n  l: " + long: "f:2:6: the list \"l\" has 10001 values; it may have 10000 (look long " +
			"lists up in a hook before the call)",
		"\n  l: " + wide: "f:4:3: the lists and shared expressions have 1048584 bytes, counted once " +
			"for each rule that uses them; they may have 1048576 (combine the rules that use a " +
			"long list, or check it in a tool or a hook)",
		"\n  l: [a]" + many.String(): "f:1:1: there are 202 lists and shared expressions; a file " +
			"may have 200 (combine some)",
	} {
		_, err := Decode("f", []byte("lists:"+lists+rules))
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

const allowingRules = `policies:
  - {name: large, when: args.size > 100, then: ask, message: m}
  - {name: huge, when: args.size > 10000, then: deny, message: m}
  - {name: odd, when: args.size == 501, then: warn, message: m}
  - {name: known, when: args.to == 'ada', then: allow, message: m}
`

// It overrules the asks of its own set, never a denial.
func TestAllow_OverrulesAsks(t *testing.T) {
	set := decoded(t, allowingRules)
	other := NewSet(api.PolicyRule{Name: "else", When: "args.size > 100", Then: api.PolicyAsk,
		Message: "m"})
	for arguments, want := range map[string]string{
		`{"to":"bob","size":500}`:   "large:ask else:ask allow=false",
		`{"to":"ada","size":500}`:   "else:ask known:allow large:ask<known allow=false",
		`{"to":"ada","size":501}`:   "else:ask odd:warn known:allow large:ask<known allow=false",
		`{"to":"ada","size":5}`:     "known:allow allow=false",
		`{"to":"ada","size":50000}`: "huge:deny else:ask known:allow large:ask<known allow=false",
	} {
		f := &Facts{Arguments: []byte(arguments)}
		decided := Decide(f, []*Set{set, other}, nil)
		got := fmt.Sprintf("%s allow=%v", strings.ReplaceAll(ruled(f, set, other), ", ", " "),
			decided.Allowed)
		if got != want {
			t.Errorf("%s: got %s, want %s", arguments, got, want)
		}
	}
}

// The approval of a toolspec is overruled where all sets for all runs agree. An agent's rules
// overrule nothing.
func TestAllow_NeedsTheRulesForAllRuns(t *testing.T) {
	set, stricter := decoded(t, allowingRules), NewSet(api.PolicyRule{Name: "s", When: "false",
		Then: api.PolicyDeny, Message: "m"})
	f := &Facts{Arguments: []byte(`{"to":"ada","size":500}`)}
	for name, c := range map[string]struct {
		all     []*Set
		agents  *Set
		allowed bool
		met     string
	}{
		"one set":                 {[]*Set{set}, nil, true, "known, large"},
		"the same set pinned":     {[]*Set{set, set}, nil, true, "known, large"},
		"a worker without rules":  {[]*Set{set, nil}, nil, true, "known, large"},
		"a worker that forbids":   {[]*Set{set, stricter}, nil, false, "known, large"},
		"the rules of an agent":   {nil, set, false, "large"},
		"an agent beside workers": {[]*Set{stricter}, set, false, "large"},
		"no rules":                {nil, nil, false, ""},
	} {
		decided := Decide(f, c.all, c.agents)
		var met []string
		for _, a := range decided.Met {
			met = append(met, a.Rule)
		}
		if got := strings.Join(met, ", "); decided.Allowed != c.allowed || got != c.met {
			t.Errorf("%s: %s, allowed: %v", name, got, decided.Allowed)
		}
	}
}
