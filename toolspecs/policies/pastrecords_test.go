package policies

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

func spendingRules() []api.PolicyRule {
	return []api.PolicyRule{
		{Name: "spending", Tools: []string{"send"}, Then: api.PolicyDeny, Message: "no",
			When: "principal.total('amount', '1h') > 100"},
		{Name: "again", Tools: []string{"send"}, Then: api.PolicyAsk, Message: "no",
			When: "conversation.past('1h').exists(c, c.args.to == args.to)"},
	}
}

// Records of all selected runs count for their principal, those that were made and had been
// admitted before.
func TestReplay_CountsTheCallsOfAllRuns(t *testing.T) {
	record := func(run string, turn int, who, args string, change ...func(*api.Record)) api.Record {
		r := recordedCall(run, turn, 1, "send", args)
		r.Caller.Principal, r.Caller.Auth = who, api.AuthKey
		for _, c := range change {
			c(&r)
		}
		return r
	}
	refused := func(r *api.Record) {
		r.Status, r.Policies = api.CallRefused, []api.PolicyAction{{Effect: api.PolicyDeny}}
	}
	running := func(r *api.Record) { r.Closed = time.Time{} }
	longAgo := func(r *api.Record) {
		r.Scheduled, r.Closed = r.Scheduled.Add(-2*time.Hour), r.Closed.Add(-2*time.Hour)
	}
	got := replayed(t, spendingRules(),
		record("a", 1, "ada", `{"amount":90,"to":"x"}`, longAgo),
		record("a", 2, "ada", `{"amount":60,"to":"x"}`, running),
		record("a", 5, "ada", `{"amount":1,"to":"x"}`),
		record("b", 3, "ada", `{"amount":50,"to":"y"}`, refused),
		record("b", 4, "ada", `{"amount":40,"to":"x"}`),
		record("c", 6, "ben", `{"amount":100,"to":"x"}`))
	want := map[string]string{"a 1.1": "allow, allow", "a 2.1": "allow, allow",
		"b 3.1": "deny, deny", "b 4.1": "allow, allow", "a 5.1": "allow, deny",
		"c 6.1": "allow, allow"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Cases give the earlier calls.
func TestCases_SetEarlierCalls(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"rules.yaml": `policies:
  - {name: spending, tools: [pay], then: deny, message: no, when: "principal.total('amount', '1h') > 100"}
  - {name: twice, tools: [pay], then: ask, message: no, when: "conversation.count('refund', '1h') > 0"}
`, "cases.yaml": `policies: [rules.yaml]
cases:
  - {name: at the limit, tool: pay, args: {amount: 40}, want: allow,
     past: [{tool: pay, args: {amount: 60}, ago: 10m}, {tool: pay, args: {amount: 60}, ago: 2h},
       {tool: pay, args: {amount: 1}, of: conversation}, {tool: refund, of: principal}]}
  - {name: above, tool: pay, args: {amount: 40.01}, want: deny, rule: spending,
     past: [{tool: pay, args: {amount: 60}, ago: 2h, running: true}]}
  - {name: after a refund, tool: pay, want: ask, rule: twice, past: [{tool: refund, ago: 59m}]}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases, err := LoadCases(filepath.Join(dir, "cases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tried := range cases.Try() {
		if !tried.OK {
			t.Errorf("%s: %+v", tried.Name, tried)
		}
	}
}

// With the tools, lint reports what a rule cannot know of earlier calls.
func TestLint_ChecksWhatRulesAskAboutEarlierCalls(t *testing.T) {
	tools := Tools{"pay": {Names: []string{"amount", "card", "to"}, Sensitive: []string{"card"}},
		"note": {Names: []string{"text"}}}
	for when, want := range map[string]string{
		"principal.sum('amount', '1h') > 1.0":                      "",
		"principal.count(tool.name, '1h') > 1":                     "",
		"principal.sum('amuont', '1h') > 1.0":                      "argument amuont of earlier calls",
		"principal.past('1h').exists(c, c.args.card == args.to)":   "which is sensitive",
		"principal.sum('card.limit', '1h') > 1.0":                  "which is sensitive",
		"principal.count('payy', '1h') > 1":                        "there is no such tool",
		"principal.past('note', '1h').exists(c, has(c.args.to))":   "argument to of earlier calls",
		"principal.past('note', '1h').exists(c, has(c.args.text))": "",
	} {
		_, err := DecodeFor("rules.yaml", []byte("policies: [{name: r, then: deny, message: m, "+
			"tools: [pay], when: \""+when+"\"}]"), tools)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", when, err, want)
		}
	}
}
