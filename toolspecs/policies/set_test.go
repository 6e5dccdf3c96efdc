package policies

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// sending returns the facts of a call that sends data out, in a run that has read untrusted data.
func sending() *Facts {
	return &Facts{
		Tool: Tool{Name: "send_file", Version: "1.2.0", Category: "http",
			Tags: []string{"mail"}, Lane: "http", Effect: "once",
			Effects: []string{"external_write"}, Emits: []string{"receipt"}},
		Caller: Caller{Type: "agent", ID: "clerk", Auth: "jwt", Claims: map[string]any{
			"groups": []any{"dev", "ops"}, "level": 3.0, "org": map[string]any{"id": "acme"}}},
		Run: Run{ID: "r1", Agent: "clerk", Conversation: "c1", Depth: 1, Turn: 3,
			Variables: []string{"project"}},
		Arguments: []byte(`{"to":"eve@example.com","size":12345678901,"ratio":0.5,"huge":1e400,"tags":["a","b"],"note":null,"deep":{"x":[1,{"y":"z"}]}}`),
		Plan: NewPlan(&api.ExecutionPlan{Intent: "tell them", Rollback: "none",
			Preconditions: []string{"asked"}, ExpectedOutcomes: []string{"told"}}),
		Labels: []string{"untrusted"},
		Now:    time.Date(2026, 3, 1, 22, 30, 0, 0, time.FixedZone("", 3600)),
		Budget: NewBudget(api.Limits{Calls: 10, Cost: 2}, api.Usage{Calls: 8, InputTokens: 5,
			OutputTokens: 6, Cost: 1.5}, time.Minute),
		Calls: []api.PastCalls{{Tool: "read_page", Completed: 2, Failed: 1, Refused: 4,
			Running: 3}},
	}
}

// Each fact of docs/policy-language.md has the value of the call. A missing fact fails; it does not
// count as false.
func TestExpressions_ReadEveryDocumentedFact(t *testing.T) {
	for expression, want := range map[string]string{
		`tool.name == 'send_file' && tool.version == '1.2.0' && tool.category == 'http' && tool.lane == 'http' && tool.effect == 'once'`: "true",
		`'mail' in tool.tags && 'external_write' in tool.effects && 'receipt' in tool.emits`:                                             "true",
		`'untrusted' in labels && !('private' in labels) && labels.exists(l, l.startsWith('un'))`:                                        "true",
		`caller.type == 'agent' && caller.id == run.agent && run.id == 'r1' && run.conversation == 'c1'`:                                 "true",
		`caller.auth == 'jwt' && 'ops' in caller.claims.groups && caller.claims.level > 2 && caller.claims.org.id == 'acme'`:             "true",
		`'dev' in caller.claims[?'teams'].orValue([])`:                                                                                   "false",
		`'dev' in caller.claims.teams`:                                                                                                                                "no such key: teams",
		`run.depth == 1 && run.turn > 2 && 'project' in run.variables`:                                                                                                "true",
		`args.to.endsWith('@example.com') && args.size > 12345678900 && args.ratio < 1`:                                                                               "true",
		`args.tags.size() == 2 && args.deep.x[1].y == 'z' && args.note == null && args.huge == '1e400'`:                                                               "true",
		`now.getHours() == 21 && now < timestamp('2026-03-01T21:30:01Z')`:                                                                                             "true",
		`budget.calls.used == 8 && budget.calls.left == 2 && budget.tokens.used == 11`:                                                                                "true",
		`budget.tokens.left > 1000000 && budget.cost.left == 0.5 && budget.wall_time.used == duration('60s')`:                                                         "true",
		`budget.wall_time.left > duration('24h')`:                                                                                                                     "true",
		`calls.read_page.made == 6 && calls.read_page.completed == 2 && calls['read_page'].refused == 4`:                                                              "true",
		`calls.never.made == 0 && !('never' in calls) && 'read_page' in calls`:                                                                                        "true",
		`plan.given && plan.intent == 'tell them' && plan.rollback == 'none' && !plan.dry_run && plan.preconditions == ['asked'] && 'told' in plan.expected_outcomes`: "true",
		`has(args.bcc) && args.bcc == 'x'`:                                                                                                                            "false",
		`args.?bcc.orValue('') == ''`:                                                                                                                                 "true",
		`args.bcc == 'x'`:                                                                                                                                             "no such key: bcc",
		`args.size.startsWith('1')`:                                                                                                                                   "no such overload",
		`[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, a+b+c+d+e > 0)))))`: "operation cancelled: actual cost limit exceeded",
	} {
		c, err := Compile(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		holds, err := c.Holds(sending())
		if got := fmt.Sprint(holds); err == nil && got != want || err != nil &&
			err.Error() != want {
			t.Errorf("%s: got %v, %v", expression, holds, err)
		}
	}
}

// An expression that is not boolean, or that uses an unknown name, does not compile. The fault has
// the position and suggestions.
func TestCompile_ReportsInvalidExpressions(t *testing.T) {
	for expression, want := range map[string]string{
		``:                                     "at 1:1 of the expression: the expression is empty (write true for a rule that always holds)",
		"  \n":                                 "at 1:1 of the expression: the expression is empty (write true for a rule that always holds)",
		`tool.name`:                            "at 1:1 of the expression: the expression is of the type string, not bool (compare it with a value: the result must be true or false)",
		`args.to`:                              "at 1:1 of the expression: the expression is of the type dyn, not bool (compare it with a value: the result must be true or false)",
		`1 + 1`:                                "at 1:1 of the expression: the expression is of the type int, not bool (compare it with a value: the result must be true or false)",
		`tool.nmae == 'x'`:                     `at 1:5 of the expression: undefined field 'nmae' (did you mean "name"?)`,
		`'a' in lables`:                        "at 1:8 of the expression: undeclared reference to 'lables' (did you mean 'labels'?)",
		"tool.name == 'a' &&\n  callr.id=='x'": "at 2:3 of the expression: undeclared reference to 'callr' (did you mean 'calls' or 'caller'?)",
		`tool.name = 'x'`:                      `at 1:11 of the expression: "=" is not valid here (write ==)`,
		`true &&`:                              "at 1:8 of the expression: it ends too early (complete it, or remove the extra text at its end)",
		"(true\n":                              "at 2:1 of the expression: it ends too early (complete it, or remove the extra text at its end)",
		`true and false`:                       `at 1:6 of the expression: "and" is not valid here (write &&)`,
		`args.n > 1)`:                          `at 1:11 of the expression: ")" is not valid here (check the text before it: an operator, a bracket or a quote may be missing)`,
		"true &&\n  # & 'é'":                   `at 2:3 of the expression: "#" is not valid here (check the text before it: an operator, a bracket or a quote may be missing)`,
		`tool.name == 1`:                       "at 1:11 of the expression: found no matching overload for '_==_' applied to '(string, int)'",
		`calls.x.complted > 1`:                 `at 1:8 of the expression: undefined field 'complted' (did you mean "completed"?)`,
		`budget.calls > 1`:                     "at 1:14 of the expression: found no matching overload for '_>_' applied to '(policies.Count, int)'",
		`args.to == 'x`:                        "at 1:12 of the expression: the string that starts here is not closed (close it with ')",
		`rand() > 0.5`:                         "at 1:5 of the expression: undeclared reference to 'rand'",
		`args.to.matches('(')`:                 "at 1:1 of the expression: error parsing regexp: missing closing ): `(`",
		strings.Repeat("(", 60) + "true" + strings.Repeat(")", 60): "at 1:1 of the expression: expression recursion limit exceeded: 50",
		`'` + strings.Repeat("x", maxExpression) + `' == 'y'`:      "at 1:1 of the expression: expression code point size exceeds limit: size: 4105, limit 4096",
	} {
		_, err := Compile(expression)
		if err == nil || err.Error() != want || len(err.Error()) > 1000 {
			t.Errorf("%.60q: got %v", expression, err)
		}
	}
}

// Rules for other tools and agents are not evaluated. A rule that fails or does not compile denies.
func TestCheck_DecidesByTheStrictestRule(t *testing.T) {
	say := func(name, when string, then api.PolicyEffect) api.PolicyRule {
		return api.PolicyRule{Name: name, When: when, Then: then, Message: "m-" + name}
	}
	other, elsewhere := say("other", "args.nothing", api.PolicyDeny),
		say("elsewhere", "args.nothing", api.PolicyDeny)
	other.Tools, elsewhere.Agents = []string{"read_page"}, []string{"librarian"}
	mine := say("mine", "true", api.PolicyWarn)
	mine.Tools, mine.Agents = []string{"x", "send_file"}, []string{"clerk"}
	first := NewSet(say("w", "true", api.PolicyWarn), say("a", "true", api.PolicyAsk),
		say("no", "false", api.PolicyDeny), other, elsewhere)
	second := NewSet(say("w", "true", api.PolicyWarn), mine, say("d", "'untrusted' in labels",
		api.PolicyDeny),
		say("fails", "args.bcc == 'x'", api.PolicyWarn), say("broken", "nothing", api.PolicyWarn))
	var got []string
	for _, a := range checkAll(sending(), first, nil, second) {
		got = append(got, fmt.Sprintf("%s:%s:%v", a.Rule, a.Effect, a.Failure != ""))
	}
	if want := "d:deny:false fails:deny:true broken:deny:true a:ask:false w:warn:false mine:warn:false"; strings.Join(got,
		" ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if first.Len() != 5 || strings.Join(first.Names(), " ") != "w a no other elsewhere" ||
		(*Set)(nil).Len() != 0 || (*Set)(nil).Rules() != nil {
		t.Errorf("the set has %q", first.Names())
	}
	if got := checkAll(sending()); got != nil {
		t.Errorf("without rules: %v", got)
	}
}

// Rules that read such arguments fail. A call without arguments has none.
func TestArguments_ThatAreNoObjectFail(t *testing.T) {
	c, err := Compile(`has(args.a)`)
	if err != nil {
		t.Fatal(err)
	}
	const notAnObject = "false the arguments are not a JSON object"
	for text, want := range map[string]string{"": "false <nil>", "{}": "false <nil>",
		`{"a":1}`: "true <nil>", "[1]": notAnObject, "{": notAnObject} {
		holds, err := c.Holds(&Facts{Arguments: []byte(text)})
		if got := fmt.Sprint(holds, " ", err); got != want {
			t.Errorf("%q: got %s", text, got)
		}
	}
}

// Without a limit it is unbounded.
func TestBudget_IsNeverNegative(t *testing.T) {
	l := api.Limits{Calls: 1, Tokens: 10, Cost: 1, WallTime: api.Duration(time.Second)}
	u := api.Usage{Calls: 2, InputTokens: 20, Cost: 3}
	if b := NewBudget(l, u, time.Hour); b.Calls.Left != 0 || b.Tokens.Left != 0 ||
		b.Cost.Left != 0 || b.WallTime.Left != 0 {
		t.Errorf("got %+v", b)
	}
	if b := NewBudget(api.Limits{}, u, 0); b.Calls.Left != unlimited ||
		b.Tokens.Left != unlimited ||
		!math.IsInf(b.Cost.Left, 1) || b.WallTime.Left != math.MaxInt64 {
		t.Errorf("got %+v", b)
	}
}

func BenchmarkCheck(b *testing.B) {
	var rules []api.PolicyRule
	for i := range 100 {
		rules = append(rules, api.PolicyRule{Name: fmt.Sprint("r", i), Then: api.PolicyDeny,
			Message: "no",
			When: fmt.Sprintf(
				"'label%d' in labels && 'external_write' in tool.effects || args.to.endsWith('@example%d.com') || calls.read_page.completed > %d",
				i, i, 10+i)})
	}
	set := NewSet(rules...)
	f := sending()
	for b.Loop() {
		if got := checkAll(f, set); len(got) != 0 {
			b.Fatal(got)
		}
	}
}
