package policies

import (
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/internal/core/toolfacts"
)

const labelTable = `
labels:
  - tools: [read_mail, "web_*", "tag:inbox", "server:github", "category:http"]
    emits: [untrusted]
  - tools: ["server:github"]
    emits: [untrusted, {label: internal, when: "result.visibility == 'private'"}]
    effects: [external_write]
  - tools: [review]
    clears: [untrusted, {label: secret, to: internal}]
policies:
  - {name: r, when: "'untrusted' in labels", then: ask, message: m, clears: [untrusted]}
`

// A tool gets what all entries that select it declare, each once.
func TestTable_GivesLabelsToSelectedTools(t *testing.T) {
	set, err := Decode("f.yaml", []byte(labelTable))
	if err != nil {
		t.Fatal(err)
	}
	untrusted := Emission{Label: "untrusted"}
	for _, c := range []struct {
		tool toolfacts.Facts
		want Labels
	}{
		{toolfacts.Facts{Name: "read_mail"}, Labels{Emits: []Emission{untrusted}}},
		{toolfacts.Facts{Name: "web_search"}, Labels{Emits: []Emission{untrusted}}},
		{toolfacts.Facts{Name: "a", Tags: []string{"inbox"}}, Labels{Emits: []Emission{untrusted}}},
		{toolfacts.Facts{Name: "a", Category: "http"}, Labels{Emits: []Emission{untrusted}}},
		{toolfacts.Facts{Name: "a", Server: "github", Category: "http"}, Labels{
			Emits: []Emission{untrusted, {Label: "internal",
				When: "result.visibility == 'private'"}}, Effects: []string{"external_write"}}},
		{toolfacts.Facts{Name: "review"}, Labels{Clears: []api.Clearing{{Label: "untrusted"},
			{Label: "secret", To: "internal"}}}},
		{toolfacts.Facts{Name: "other"}, Labels{}},
	} {
		if got := set.FindLabels(c.tool); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: got %+v, want %+v", c.tool, got, c.want)
		}
	}
	own := Labels{Emits: []Emission{untrusted}, Effects: []string{"pays"},
		Clears: []api.Clearing{{Label: "secret"}}}
	want := Labels{Emits: []Emission{untrusted}, Effects: []string{"pays"},
		Clears: []api.Clearing{{Label: "secret"}, {Label: "untrusted"}}}
	if got := own.With(set.FindLabels(toolfacts.Facts{Name: "review"})); !reflect.DeepEqual(got, want) {
		t.Errorf("with its own: got %+v, want %+v", got, want)
	}
	other, err := Decode("f.yaml", []byte(strings.ReplaceAll(labelTable, "web_*", "page_*")))
	if err != nil || set.sameLabels(other) || !set.sameLabels(set) || set.sameLabels(nil) {
		t.Errorf("equal tables: %v", err)
	}
}

// Every fault of a table has its position.
func TestTable_ReportsFaults(t *testing.T) {
	const file = `policies:
  - {name: r, when: "true", then: deny, message: m, clears: [untrusted]}
labels:
  - tools: [sned, "tag:inbx", "a:b"]
    emits: ["not good", {label: x, when: "result.a ="}, {label: x, when: "labels.size() > 0"}]
  - tools: [send]
  - tools: [send]
    emits: [a, a, {label: b, when: "1"}]
    effects: ["#"]
    clears: [{label: a, to: a}, {label: b, to: "#"}, b]
`
	_, err := DecodeFor("f.yaml", []byte(file), Tools{"send": {Facts: toolfacts.Facts{
		Tags: []string{"inbox"}}}})
	const want = `f.yaml:2:61: only a rule with then: ask clears labels: an approval does (remove clears)
f.yaml:4:13: there is no tool "sned" (did you mean "send"?)
f.yaml:4:19: there is no tool "tag:inbx" (did you mean "tag:inbox"?)
f.yaml:4:31: "a:b" selects no tools: begin with tag:, category:, server: or instance: instead
f.yaml:5:13: "not good" cannot be a label (use up to 64 letters, digits, _, - and .; the first one a letter or digit)
f.yaml:5:42: label "x", at 1:10 of the expression: "=" is not valid here (write ==)
f.yaml:5:74: label "x", at 1:1 of the expression: undeclared reference to 'labels'
f.yaml:6:5: the entry gives its tools nothing (add emits, effects or clears)
f.yaml:8:16: "a" is given twice (remove one)
f.yaml:8:36: label "b", at 1:1 of the expression: the expression is of the type int, not bool (compare it with a value: the result must be true or false)
f.yaml:9:15: "#" cannot name a capability of a tool (use up to 64 letters, digits, _, - and .; the first one a letter or digit)
f.yaml:10:29: label "a" becomes itself (remove it, or choose another label)
f.yaml:10:48: "#" cannot be a label (use up to 64 letters, digits, _, - and .; the first one a letter or digit)
f.yaml:10:54: "b" is given twice (remove one)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A label is cleared if the pinned and the current rule of a name clear it.
func TestClearings_NeedAllRulesOfTheName(t *testing.T) {
	ask := func(name string, labels ...api.Clearing) *Set {
		return NewSet(api.PolicyRule{Name: name, When: "true", Then: api.PolicyAsk, Clears: labels})
	}
	untrusted, secret := api.Clearing{Label: "untrusted"}, api.Clearing{Label: "secret", To: "x"}
	met := []api.PolicyAction{{Rule: "a", Effect: api.PolicyAsk}, {Rule: "b",
		Effect: api.PolicyAsk}, {Rule: "c", Effect: api.PolicyWarn}}
	for _, c := range []struct {
		sets []*Set
		want string
	}{
		{[]*Set{ask("a", untrusted, secret)}, "untrusted, secret to x"},
		{[]*Set{ask("a", untrusted, secret), ask("a", secret)}, "secret to x"},
		{[]*Set{ask("a", untrusted), nil, ask("a")}, ""},
		{[]*Set{ask("a", untrusted), ask("b", secret)}, "untrusted, secret to x"},
		{[]*Set{ask("c", untrusted)}, ""},
	} {
		got := Clearings(met, c.sets...)
		if policyrules.DescribeClearings(got) != c.want || len(got) > 0 && got[0].Rule == "" {
			t.Errorf("got %+v, want %s", got, c.want)
		}
	}
}

// Warnings name tools without labels, undo tools that a rule would stop, and approvals by all.
func TestWarnings(t *testing.T) {
	set, err := Decode("f.yaml", []byte(`policies:
  - {name: leak, when: "'untrusted' in labels && 'external_write' in tool.effects", then: deny, message: m}
  - {name: named, when: "args.n > 1", then: ask, message: m, tools: [refund]}
  - {name: open, when: "'untrusted' in labels", then: ask, message: m, tools: [x], clears: [untrusted]}
  - {name: mine, when: "true", then: warn, message: m}
`))
	if err != nil {
		t.Fatal(err)
	}
	tools := []Subject{
		{Tool: Tool{Name: "post"}, Writes: "POST to a REST API", Undo: "unpost"},
		{Tool: Tool{Name: "unpost", Effects: []string{"external_write"}}},
		{Tool: Tool{Name: "pay", Effects: []string{"pays"}}, Writes: "a command", Undo: "refund"},
		{Tool: Tool{Name: "refund"}}, {Tool: Tool{Name: "get"}, Reads: "from a REST API"},
		{Tool: Tool{Name: "mail", Emits: []string{"untrusted"}}, Reads: "from an MCP server"},
		{Tool: Tool{Name: "lost"}, Undo: "unknown"},
	}
	var got []string
	for _, w := range set.Warnings(tools) {
		got = append(got, w.Message+" ("+w.Hint+")")
	}
	want := []string{
		"tool post has effects outside (POST to a REST API) and has no effects, so no rule about them matches it (labels: [{tools: [post], effects: [external_write]}])",
		"tool get returns what others may have written (from a REST API) and has no emits, so no rule about them matches it (labels: [{tools: [get], emits: [untrusted]}])",
		"calls of unpost that undo calls of post are not checked, although the policy leak would stop other calls of it (let the rules stop post too, or undo it with another tool)",
		"calls of refund that undo calls of pay are not checked, although the policy named would stop other calls of it (let the rules stop pay too, or undo it with another tool)",
		"an approval by rule open clears untrusted, and everyone but the caller may give it (name approvers, such as approvers: [{role: approver}])",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if w := NewSet(api.PolicyRule{Name: "r", When: "true", Then: api.PolicyWarn}).Warnings(tools); len(
		w) > 0 {
		t.Errorf("rules without labels: %+v", w)
	}
}

// A replay takes conditions of emissions and clearings from the records.
func TestReplay_FollowsRecordedLabels(t *testing.T) {
	tools := map[string]Tool{"page": {Name: "page", Emits: []string{"a", "b"}}}
	r := NewReplay(NewSet(api.PolicyRule{Name: "a", When: "'a' in labels", Then: api.PolicyDeny},
		api.PolicyRule{Name: "b", When: "'b' in labels", Then: api.PolicyDeny},
		api.PolicyRule{Name: "c", When: "'c' in labels", Then: api.PolicyWarn}),
		func(name string) (Tool, bool) { tool, ok := tools[name]; return tool, ok })
	calls := []api.Record{
		{Turn: 1, Tool: "page", Result: &api.Result{NotEmitted: []string{"b"}}},
		{Turn: 2, Tool: "look"},
		{Turn: 2, Tool: "page", Error: &api.Error{}},
		{Turn: 3, Tool: "clean", Result: &api.Result{Cleared: []api.Clearing{{Label: "a",
			To: "c"}}}},
		{Turn: 3, Tool: "page", Result: &api.Result{NotEmitted: []string{"b"}}},
		{Turn: 4, Tool: "send", Approval: &api.Decided{Cleared: []api.Clearing{{Label: "a"},
			{Label: "b"}}}},
		{Turn: 5, Tool: "send"},
	}
	for i := range calls {
		c := &calls[i]
		c.CallID, c.WorkflowID, c.Run = api.TurnCallID(c.Turn, i), "w", "r"
		if c.Status = api.CallCompleted; c.Error != nil {
			c.Status = api.CallFailed
		}
		r.Add(*c)
	}
	want := []string{"", "a", "a", "a b", "a b", "a b c", "c"}
	n := 0
	r.Results(func(got Replayed) {
		var names []string
		for _, met := range got.Met {
			names = append(names, met.Rule)
		}
		if strings.Join(names, " ") != want[n] {
			t.Errorf("call %d, %s: met %q, want %s", n, got.Tool, names, want[n])
		}
		n++
	})
	if n != len(want) {
		t.Errorf("%d calls were replayed", n)
	}
}
