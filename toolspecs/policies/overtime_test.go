package policies_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

var today = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// paid is a ledger of three payments, of which the last one is in flight.
var paid = []ledgerrules.Entry{
	{Run: "1", Call: "1.1", Tool: "pay", Reserved: today.Add(-50 * time.Hour),
		Ended: today.Add(-49 * time.Hour), Args: args(`{"amount":500,"to":"ann"}`)},
	{Run: "1", Call: "2.1", Tool: "pay", Reserved: today.Add(-2 * time.Hour),
		Ended: today.Add(-time.Hour), Args: args(`{"amount":100.5,"to":"ann"}`)},
	{Run: "2", Call: "1.1", Tool: "refund", Reserved: today.Add(-time.Hour),
		Args: args(`{"amount":20,"to":"ben"}`)},
}

func args(text string) (all map[string]json.RawMessage) {
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		panic(err)
	}
	return all
}

// asking returns the facts of a payment, with the answers to the questions that the rules are known
// to ask before they are evaluated.
func asking(f policies.Facts, rules *policies.Set) *policies.Facts {
	f.Now = today
	f.Tool.Name = "pay"
	asks := policies.CollectAsks(&f, rules)
	f.Past = func(scope api.LedgerScope, q ledgerrules.Query) ledgerrules.Result {
		if !slices.ContainsFunc(asks.Queries[scope], func(known ledgerrules.Query) bool {
			return known.Key() == q.Key()
		}) {
			return ledgerrules.Result{Fault: "not known: " + q.Key()}
		}
		return ledgerrules.Ask(paid, q, today)
	}
	return &f
}

// Every question is known before the rule is evaluated, and answered with the calls in the window.
func TestOverTime_AsksAboutEarlierCalls(t *testing.T) {
	for when, saw := range map[string]string{
		"principal.count('24h') == 1":                                                     "principal.count(pay, 24h0m0s) = 1",
		"principal.count('31d') == 2":                                                     "principal.count(pay, 744h0m0s) = 2",
		"conversation.count('refund', '1h') == 1 && conversation.id == 'talk'":            "conversation.count(refund, 1h0m0s) = 1",
		"principal.count(['pay', 'refund'], '7d') == 3":                                   "principal.count(pay, refund, 168h0m0s) = 3",
		"principal.count(tool.name, '24h') == 1":                                          "principal.count(pay, 24h0m0s) = 1",
		"principal.sum('amount', '24h') == 100.5":                                         "principal.sum(pay, amount, 24h0m0s) = 100.5",
		"principal.sum('pay', 'amount', '7d') > 600.0":                                    "principal.sum(pay, amount, 168h0m0s) = 600.5",
		"principal.total('amount', '24h') > 110":                                          "principal.total(pay, amount, 24h0m0s) = 111",
		"principal.total('refund', 'amount', '24h') == 20.0":                              "principal.total(refund, amount, 24h0m0s) = 20",
		"principal.past('24h').exists(c, c.args.to == args.to && c.args['amount'] > 100)": "principal.past(pay, amount, to, 24h0m0s): 1 calls",
		"principal.past('refund', '1m').all(c, c.running && c.tool == 'refund' && c.run == '2' && " +
			"c.at < now)": "principal.past(refund, 1m0s): 1 calls",
		"principal.id == 'ada' && principal.auth == 'jwt' && principal.count('1h') == 0": "principal.count(pay, 1h0m0s) = 0",
	} {
		rules := policies.NewSet(api.PolicyRule{Name: "r", When: when, Then: api.PolicyDeny,
			Message: "no", Tools: []string{"pay"}})
		met := policies.Decide(asking(policies.Facts{
			Arguments: json.RawMessage(`{"amount":10.5,"to":"ann"}`),
			Principal: policies.Principal{ID: "ada", Auth: "jwt"},
			Run:       policies.Run{Conversation: "talk"}}, rules), []*policies.Set{rules}, nil).Met
		if len(met) != 1 || met[0].Failure != "" || met[0].Saw != saw {
			t.Errorf("%s: got %+v, want %s", when, met, saw)
		}
	}
}

// A shared expression asks for each rule about that rule's tools.
func TestOverTime_WorksInSharedExpressions(t *testing.T) {
	set, err := policies.Decode("rules.yaml", []byte(`
define: {busy: "principal.past('24h')", often: "principal.count('24h') >= 1"}
policies:
  - {name: a, when: "often && busy.exists(c, c.args.to == 'ann')", then: warn, message: m, tools: [pay]}
  - {name: b, when: "often && busy.exists(c, c.args.amount == 20)", then: warn, message: m, tools: [pay, refund]}
`))
	if err != nil {
		t.Fatal(err)
	}
	met := policies.Decide(asking(policies.Facts{}, set), []*policies.Set{set}, nil).Met
	if len(met) != 2 || met[0].Failure+met[1].Failure != "" {
		t.Errorf("got %+v", met)
	}
}

// A rule that gets no answer denies.
func TestOverTime_WithoutAnswersTheRuleDenies(t *testing.T) {
	for _, when := range []string{"principal.count('1h') > 5",
		"principal.past('1h').exists(c, c.args.amount > 5)",
		"[principal].exists(p, p.id == 'x') || conversation.sum('amount', '1h') > 1.0"} {
		rules := policies.NewSet(api.PolicyRule{Name: "r", When: when, Then: api.PolicyWarn,
			Message: "no"})
		met := policies.Decide(&policies.Facts{}, []*policies.Set{rules}, nil).Met
		if len(met) != 1 || met[0].Effect != api.PolicyDeny || met[0].Failure == "" {
			t.Errorf("%s: %+v", when, met)
		}
	}
	if _, err := policies.Compile("principal.count('1h') > 5"); err == nil ||
		!strings.Contains(err.Error(), "only a policy") {
		t.Errorf("a toolspec's condition: %v", err)
	}
}

// What cannot be known before a rule is evaluated is a fault with its position.
func TestOverTime_FaultsHaveAPosition(t *testing.T) {
	for when, want := range map[string]string{
		"principal.count('32d') > 1":                 `1:16 of the expression: "32d" is not a window`,
		"true && principal.count('soon') > 1":        `1:24 of the expression: "soon" is not a window`,
		"principal.count('0s') > 1":                  "is not a window",
		"principal.count('1.5d') > 1":                "is not a window",
		"principal.count(run.id) > 1":                "the window of count is not a literal",
		"principal.count(run.id, '1h') > 1":          "a tool of count is not a literal",
		"principal.count([run.id], '1h') > 1":        "a tool of count is not a literal",
		"principal.count(['a b'], '1h') > 1":         "a b",
		"principal.sum(run.id, '1h') > 1.0":          "the argument that sum adds up",
		"principal.total('', '1h') > 1.0":            "the argument that total adds up",
		"[principal].exists(p, p.count('1h') > 1)":   "something else than principal",
		"principal.often('1h') > 1":                  "undeclared reference to 'often'",
		"principal.past('1h').exists(c, c.arg == 1)": "undefined field 'arg'",
	} {
		set := policies.NewSet(api.PolicyRule{Name: "r", When: when, Then: api.PolicyWarn, Message: "m"})
		_, err := policies.Decode("rules.yaml", []byte("policies: [{name: r, then: warn, message: m, when: "+
			quoted(when)+"}]"))
		if err == nil || !strings.Contains(err.Error(), want) || policies.AskPast(set) {
			t.Errorf("%s: got %v, want %s", when, err, want)
		}
	}
}

func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// A call is entered into a ledger where a rule asks about its tool, with the arguments that rules
// need, and asks only where a rule concerns it.
func TestAsksOf_KnowsWhichCallsCount(t *testing.T) {
	rules := policies.NewSet(
		api.PolicyRule{Name: "a", When: "principal.sum('pay', 'amount', '1h') > 1.0",
			Tools: []string{"refund"}},
		api.PolicyRule{Name: "b", When: "conversation.past('2h').exists(c, c.args.to == args.to)",
			Tools: []string{"refund", "give"}},
		api.PolicyRule{Name: "c", When: "false", Unless: "principal.count(tool.name, '3h') > 1",
			Tools: []string{"give"}, Agents: []string{"clerk"}},
		api.PolicyRule{Name: "d", When: "args.x > 1"})
	for _, c := range []struct {
		tool, agent, scopes string
		principal           policies.Recording
		queries             int
	}{
		{"pay", "", "principal", policies.Recording{Keep: api.Duration(time.Hour),
			Fields: []string{"amount"}, Numbers: []string{"amount"}}, 0},
		{"refund", "", "principal conversation", policies.Recording{}, 2},
		{"give", "", "conversation", policies.Recording{}, 1},
		{"give", "clerk", "principal conversation",
			policies.Recording{Keep: api.Duration(3 * time.Hour)}, 2},
		{"look", "clerk", "", policies.Recording{}, 0},
	} {
		f := &policies.Facts{Tool: policies.Tool{Name: c.tool}, Run: policies.Run{Agent: c.agent}}
		asks := policies.CollectAsks(f, nil, rules)
		var scopes []string
		for _, s := range asks.Scopes() {
			scopes = append(scopes, string(s))
		}
		queries := len(asks.Queries[api.ScopePrincipalCalls]) +
			len(asks.Queries[api.ScopeConversationCalls])
		got := asks.Record[api.ScopePrincipalCalls]
		if strings.Join(scopes, " ") != c.scopes || queries != c.queries || got.Keep !=
			c.principal.Keep || !slices.Equal(got.Fields, c.principal.Fields) ||
			!slices.Equal(got.Numbers, c.principal.Numbers) {
			t.Errorf("%s of %q: %s, %d queries, %+v", c.tool, c.agent, scopes, queries, got)
		}
	}
	if policies.AskPast(nil, policies.NewSet(api.PolicyRule{Name: "d", When: "args.x > 1"})) ||
		!policies.AskPast(rules) {
		t.Error("it is not known which rules ask about earlier calls")
	}
}

// Arguments that cannot be kept deny the call.
func TestRecording_KeepsOnlyWhatItMay(t *testing.T) {
	r := policies.Recording{Fields: []string{"to", "invoice.total"}, Numbers: []string{"invoice.total"}}
	for text, want := range map[string]string{
		`{"to":"ann","invoice":{"total":12,"x":1}}`:          "",
		`{"to":null,"invoice":3}`:                            "",
		`{"invoice":{"total":"12"}}`:                         "not a number",
		`{"to":"` + strings.Repeat("x", 600) + `"}`:          "has 602 bytes",
		`{"to":"ann","invoice":{"total":12},"secret":"key"}`: "",
	} {
		got, err := r.Arguments(&policies.Facts{Arguments: json.RawMessage(text)}, nil)
		if want == "" && (err != nil || got["secret"] != nil) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %s, %v", text, got, err)
		}
	}
	_, err := r.Arguments(&policies.Facts{}, []string{"invoice"})
	if err == nil || !strings.Contains(err.Error(), "sensitive") || errors.Unwrap(err) != nil {
		t.Errorf("a sensitive argument: %v", err)
	}
}
