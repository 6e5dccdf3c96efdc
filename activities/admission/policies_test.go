package admission

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

func rule(name, when string, then api.PolicyEffect) api.PolicyRule {
	return api.PolicyRule{Name: name, When: when, Then: then, Message: "because " + name}
}

// governed returns a process with a tool that sends data out, one that hides its text, and one that
// only a rule makes callable.
func governed(t testing.TB, rules ...api.PolicyRule) (*bench, api.AdmissionRequest) {
	catalog := catalogOf(t,
		spec("send", func(s *toolspecs.Spec) {
			s.Effects, s.Tags = []string{"external_write"},
				[]string{"mail"}
		}),
		spec("hide", func(s *toolspecs.Spec) { s.Parameters[0].Sensitive = true }),
		spec("bound", func(s *toolspecs.Spec) { s.Policies = []string{"seal"} }),
		spec("asking", func(s *toolspecs.Spec) {
			s.Approval = &toolspecs.Approval{When: "always"}
		}),
	)
	set := policies.NewSet(rules...)
	b := setUp(t, catalog, func(c *Config) { c.Policies = func() *policies.Set { return set } })
	return b, api.AdmissionRequest{Tools: toolsOf(catalog), Known: []string{"asking", "bound",
		"hide", "send"},
		Caller: api.Caller{Type: api.CallerAgent, ID: "clerk"}, Facts: api.RunFacts{Turn: 2,
			Labels: []string{"untrusted"}}}
}

func textCall(tool, text string) api.Call {
	arguments, _ := json.Marshal(map[string]string{"text": text})
	return api.Call{ID: "2.1", Tool: tool, Arguments: string(arguments)}
}

// Denials precede warnings, every message is reported, and the decision has the matching rules and
// the labels of the run.
func TestPolicies_OfWorkerAndAgentDecide(t *testing.T) {
	b, r := governed(t, rule("leak", "'untrusted' in labels && 'external_write' in tool.effects",
		api.PolicyDeny), rule("report", "args.text != 'x'", api.PolicyWarn))
	r.Policies = []api.PolicyRule{rule("own",
		"run.agent == 'clerk' && run.turn == 2 && 'mail' in tool.tags", api.PolicyWarn)}
	r.Calls = []api.Call{textCall("send", "a"), textCall("hide", "a"), textCall("hide", "x")}
	decisions := b.admit(t, r)
	e := decisions[0].Error
	if e == nil || e.Type != api.ErrPolicyViolation || e.Phase != api.PhasePreExecution ||
		e.Message != `the policy "leak" says: because leak; the policy "report" warns: because report; the policy "own" warns: because own` {
		t.Errorf("got %v", e)
	}
	var rules []string
	for _, p := range decisions[0].Policies {
		rules = append(rules, string(p.Effect)+" "+p.Rule)
	}
	if !slices.Equal(rules, []string{"deny leak", "warn report", "warn own"}) ||
		!slices.Equal(decisions[0].Labels, []string{"untrusted"}) ||
		decisions[0].Route != (api.Route{}) {
		t.Errorf("got %+v", decisions[0])
	}
	if v := decisions[1]; v.Error != nil || len(v.Notes) != 1 || !expect.Contains(v.Notes[0],
		`"report" warns: because report`) || len(v.Policies) != 1 {
		t.Errorf("got %+v", v)
	}
	if v := decisions[2]; v.Error != nil || v.Policies != nil || v.Labels != nil || v.Notes != nil {
		t.Errorf("a call that meets no rule got %+v", v)
	}
}

// Without rules, or with rules for other calls only, decisions have the same bytes.
func TestPolicies_WithoutRulesChangeNothing(t *testing.T) {
	free, r := admitBench(t)
	r.Calls = []api.Call{{ID: "1", Tool: "count", Arguments: `{"n":"1"}`}, {ID: "2", Tool: "old",
		Arguments: `{"text":"a"}`}, {ID: "3", Tool: "none"}}
	elsewhere := rule("elsewhere", "args.nothing", api.PolicyDeny)
	elsewhere.Tools = []string{"send"}
	want, _ := json.Marshal(free.admit(t, r))
	free.config.Policies = func() *policies.Set { return policies.NewSet(elsewhere) }
	r.PinnedPolicies = policies.NewSet(elsewhere).PinnedPolicies()
	r.Policies = []api.PolicyRule{rule("never", "false", api.PolicyDeny)}
	if got, _ := json.Marshal(free.admit(t, r)); string(got) != string(want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A run that is pinned to no rules, as one that started on a worker without any, gets those of the
// first worker with rules that admits its calls.
func TestAdmit_PinsRulesOfARunWithoutAny(t *testing.T) {
	b, r := admitBench(t)
	r.Calls = []api.Call{{ID: "1", Tool: "count", Arguments: `{"n":1}`}, {ID: "2", Tool: "none"}}
	own := policies.NewSet(rule("own", "false", api.PolicyDeny))
	other := policies.NewSet(rule("other", "false", api.PolicyDeny))
	var many []api.PolicyRule
	for i := range 20_000 {
		many = append(many, rule(fmt.Sprintf("r%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)})),
			"false", api.PolicyWarn))
	}
	for name, c := range map[string]struct {
		worker *policies.Set
		pinned api.PinnedPolicies
		want   *policies.Set
	}{
		"the run has none":  {own, api.PinnedPolicies{}, own},
		"the run has some":  {own, other.PinnedPolicies(), nil},
		"neither has any":   {nil, api.PinnedPolicies{}, nil},
		"they are too many": {policies.NewSet(many...), api.PinnedPolicies{}, nil},
	} {
		b.config.Policies = func() *policies.Set { return c.worker }
		r.PinnedPolicies = c.pinned
		decisions := b.admit(t, r)
		got := api.PinnedPolicies{}
		if decisions[0].Pinned != nil {
			got = decisions[0].Pinned.Value
		}
		if !reflect.DeepEqual(got, c.want.PinnedPolicies()) || decisions[1].Pinned != nil {
			t.Errorf("%s: pinned to %.200v", name, got)
		}
	}
}

// A rule that cannot be evaluated denies, with the reason unless it may quote a sensitive value.
func TestPolicies_FailClosed(t *testing.T) {
	b, r := governed(t, rule("reads", "int(args.text) > 5", api.PolicyWarn))
	r.Policies = []api.PolicyRule{rule("broken", "nothing", api.PolicyWarn)}
	r.Calls = []api.Call{textCall("send", "hunter2"), textCall("hide", "hunter2")}
	decisions := b.admit(t, r)
	for i, v := range decisions {
		if v.Error == nil || v.Error.Type != api.ErrPolicyViolation || len(v.Policies) != 2 ||
			v.Policies[0].Effect != api.PolicyDeny || v.Policies[0].Failure == "" {
			t.Errorf("call %d got %+v", i, v)
		}
	}
	if text := fmt.Sprint(decisions[0].Error, decisions[0].Policies); !expect.Contains(text,
		"cannot be evaluated", "does not compile", "undeclared reference") {
		t.Errorf("got %s", text)
	}
	if text := fmt.Sprint(decisions[1].Error, decisions[1].Policies); strings.Contains(text,
		"hunter2") {
		t.Errorf("a sensitive argument is shown: %s", text)
	}
}

// A rule may also require one.
func TestPolicies_ReadExecutionPlans(t *testing.T) {
	b, r := governed(t, rule("planned",
		"'external_write' in tool.effects && (!plan.given || plan.intent.contains('leak'))",
		api.PolicyDeny))
	for _, plan := range []string{"", `,"execution_plan":{"intent":"answer"}`,
		`,"execution_plan":{"intent":"leak it"}`} {
		r.Calls = append(r.Calls, api.Call{ID: "2.1", Tool: "send", Arguments: `{"text":"a"` +
			plan + `}`})
	}
	var denied []bool
	for _, v := range b.admit(t, r) {
		denied = append(denied, v.Error != nil)
	}
	if !slices.Equal(denied, []bool{true, false, true}) {
		t.Errorf("denied are %v", denied)
	}
}

// Rules get the arguments that hooks left. They apply neither to calls that a hook answered nor to
// calls that the run makes.
func TestPolicies_ApplyAfterHooks(t *testing.T) {
	b, r := governed(t, rule("text", "args.text == 'changed'", api.PolicyDeny))
	undo := textCall("send", "changed")
	undo.CallPurpose = api.CallPurpose{Purpose: api.PurposeUndo, TargetCallID: "1.1",
		TargetTool: "send"}
	v := api.AdmissionDecision{ID: "2.1", Arguments: json.RawMessage(`{"text":"changed"}`)}
	r.Calls = []api.Call{textCall("send", "as written")}
	if got, _ := b.checkPolicies(t.Context(), r, 0, v, b.reservations(r)); got.Error == nil {
		t.Errorf("changed arguments got %+v", got)
	}
	r.Calls = []api.Call{textCall("send", "changed"), undo, textCall("send", "other")}
	answered := api.AdmissionDecision{ID: "2.1", Result: &api.Result{}}
	all := &turnAdmission{AdmissionRequest: r,
		decisions: []api.AdmissionDecision{answered, v, {ID: "2.1"}}}
	if err := b.applyPolicies(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for i, got := range all.decisions {
		if got.Error != nil || got.Policies != nil {
			t.Errorf("decision %d is %+v", i, got)
		}
	}
}

// A bound on calls holds however many calls the model makes at once.
func TestPolicies_CountCallsOfTheTurn(t *testing.T) {
	b, r := governed(t, rule("three", "calls.send.made >= 3", api.PolicyDeny))
	r.Facts.Calls = []api.PastCalls{{Tool: "send", Completed: 1, Refused: 7}}
	for range 4 {
		r.Calls = append(r.Calls, textCall("send", "a"))
	}
	var denied []bool
	for _, v := range b.admit(t, r) {
		denied = append(denied, v.Error != nil)
	}
	if !slices.Equal(denied, []bool{false, false, true, true}) {
		t.Errorf("denied are %v", denied)
	}
	if r.Facts.Calls[0].Running != 0 {
		t.Error("the request was changed")
	}
}

// The policy may be one of the worker or of the agent.
func TestPolicy_RequiredByAToolMustBeInForce(t *testing.T) {
	b, r := governed(t)
	r.Calls = []api.Call{textCall("bound", "a")}
	if e := b.admit(t, r)[0].Error; e == nil || e.Type != api.ErrPreconditionFailed ||
		e.Message != `tool "bound" may be called only where the policy "seal" is in force, and neither the worker nor the agent has it; start the workers with --policies-file and a file that has it` {
		t.Errorf("got %v", e)
	}
	r.Policies = []api.PolicyRule{rule("seal", "false", api.PolicyDeny)}
	if e := b.admit(t, r)[0].Error; e != nil {
		t.Errorf("got %v", e)
	}
	b, r = governed(t, rule("seal", "false", api.PolicyDeny))
	r.Calls = []api.Call{textCall("bound", "a")}
	if e := b.admit(t, r)[0].Error; e != nil {
		t.Errorf("got %v", e)
	}
}

// A decision names a bounded number of rules, the strictest first, and a marker contains only as
// many decisions as fit.
func TestPolicies_BoundTheDecision(t *testing.T) {
	var rules []api.PolicyRule
	for i := range 40 {
		r := rule(fmt.Sprint("r", i), "true", api.PolicyWarn)
		r.Message = strings.Repeat("m", 500)
		rules = append(rules, r)
	}
	rules[39].Then = api.PolicyDeny
	b, r := governed(t, rules...)
	for range 200 {
		r.Calls = append(r.Calls, textCall("send", "a"))
	}
	decisions, err := b.Admit(t.Context(), r)
	if err != nil || len(decisions) == 0 || len(decisions) == 200 ||
		recordedSize(decisions) > api.MaxPayload {
		t.Fatalf("%d decisions, %d bytes, %v", len(decisions), recordedSize(decisions), err)
	}
	if met := decisions[0].Policies; len(met) != maxPolicies || met[0].Rule != "r39" {
		t.Errorf("got %+v", met)
	}
}

// The number of compiled sets is bounded.
func TestRulesOfAgents_AreCompiledOnce(t *testing.T) {
	var known rulesOfRuns
	one := []api.PolicyRule{rule("one", "true", api.PolicyDeny)}
	first := known.of(one)
	if known.of(one) != first || known.of(nil) != nil {
		t.Error("equal rules were compiled twice")
	}
	for i := range maxRuleSets + 1 {
		known.byDigest[fmt.Sprint(i)] = first
	}
	if again := known.of([]api.PolicyRule{rule("two", "true", api.PolicyDeny)}); again == nil ||
		len(known.byDigest) != 1 {
		t.Errorf("%d sets are in memory", len(known.byDigest))
	}
	if !reflect.DeepEqual(first.Rules(), one) {
		t.Errorf("got %+v", first.Rules())
	}
}

// A worker without the policies file of the worker that pinned the run applies its rules too.
func TestPolicies_ApplyAsPinnedOnWorkersThatLackThem(t *testing.T) {
	seal := rule("seal", "args.text == 'x'", api.PolicyDeny)
	ask := rule("later", "args.text == 'y'", api.PolicyDeny)
	pinned := policies.NewSet(seal).PinnedPolicies()
	for _, c := range []struct {
		name   string
		rules  []api.PolicyRule
		denied []bool
	}{
		{"no file", nil, []bool{true, false, false}},
		{"another file", []api.PolicyRule{ask}, []bool{true, true, false}},
		{"the same file", []api.PolicyRule{seal}, []bool{true, false, false}},
		{"a stricter file", []api.PolicyRule{seal, ask}, []bool{true, true, false}},
	} {
		b, r := governed(t, c.rules...)
		r.PinnedPolicies = pinned
		r.Calls = []api.Call{textCall("send", "x"), textCall("send", "y"), textCall("bound", "z")}
		var denied []bool
		for _, v := range b.admit(t, r) {
			denied = append(denied, v.Error != nil)
			if len(v.Policies) > 1 {
				t.Errorf("%s: a rule is reported twice: %+v", c.name, v.Policies)
			}
		}
		if !slices.Equal(denied, c.denied) {
			t.Errorf("%s: denied %v, want %v", c.name, denied, c.denied)
		}
	}
}

// A rule of the workers that allows a call removes the need for the approval that the toolspec
// declares, not that of a plan, of an agent's rule, or of stricter rules of another worker.
func TestPolicies_AllowCallsWithoutApproval(t *testing.T) {
	known := rule("known", "args.text == 'ada'", api.PolicyAllow)
	large := rule("large", "true", api.PolicyAsk)
	for name, c := range map[string]struct {
		worker, pinned, agent []api.PolicyRule
		text, ask             string
		asks                  bool
		met                   string
	}{
		"the toolspec asks": {worker: []api.PolicyRule{known}, text: "bob", asks: true},
		"a rule allows":     {worker: []api.PolicyRule{known}, text: "ada", met: "known"},
		"a rule asks": {worker: []api.PolicyRule{large, known}, text: "ada",
			met: "known large<known"},
		"the plan asks": {worker: []api.PolicyRule{known}, text: "ada", ask: "why", asks: true,
			met: "known"},
		"the agent's rule": {agent: []api.PolicyRule{known}, text: "ada", asks: true},
		"the agent's rule asks": {worker: []api.PolicyRule{known},
			agent: []api.PolicyRule{large}, text: "ada", asks: true, met: "large known"},
		"the run is pinned to others": {worker: []api.PolicyRule{known}, pinned: []api.PolicyRule{large},
			text: "ada", asks: true, met: "large known"},
	} {
		b, r := governed(t, c.worker...)
		r.PinnedPolicies, r.Policies = policies.NewSet(c.pinned...).PinnedPolicies(), c.agent
		call := textCall("asking", c.text)
		call.Ask = c.ask
		r.Calls = []api.Call{call}
		v := b.admit(t, r)[0]
		var met []string
		for _, a := range v.Policies {
			if a.AllowedBy != "" {
				a.Rule += "<" + a.AllowedBy
			}
			met = append(met, a.Rule)
		}
		if got := strings.Join(met, " "); v.Error != nil || (v.Approval != nil) != c.asks ||
			got != c.met {
			t.Errorf("%s: asks: %v, rules %q, %v", name, v.Approval != nil, got, v.Error)
		}
	}
}

// Rules read earlier calls, those of the same turn too, and where values came from. The decision
// has the sources whether a rule matched or not, never values.
func TestPolicies_ReadContentsOfTheRun(t *testing.T) {
	b, r := governed(t, rule("twice", "calls.exists(c, c.tool == 'send' && c.args.text == "+
		"args.text)", api.PolicyDeny), rule("foreign", "!free_of(args.text, 'untrusted')",
		api.PolicyDeny), rule("secret", "run.values.secret == args.text", api.PolicyDeny))
	r.Facts.Statements = []*api.Statement{{Kind: api.SourcePrompt, Text: "send hello to adele"}}
	r.Facts.Earlier = []*api.EarlierCall{{ID: "1.1", Tool: "read", Text: "send hello to steve",
		Status: api.CallCompleted, Labels: []string{"untrusted"}}}
	r.Facts.Values = map[string]any{"secret": "hunter2"}
	r.Calls = []api.Call{textCall("send", "adele"), textCall("send", "steve"),
		textCall("send", "adele"), textCall("send", "hunter2")}
	var got []string
	for _, v := range b.admit(t, r) {
		line := fmt.Sprint(v.Error != nil)
		for _, p := range v.Policies {
			line += " " + p.Rule
		}
		for _, s := range v.Sources[0].Sources {
			line += " " + s.String()
		}
		got = append(got, line)
		if text := fmt.Sprint(v); strings.Contains(text, "hunter2") {
			t.Errorf("a value is shown: %s", text)
		}
	}
	want := []string{"false prompt", "true foreign result 1.1 read [untrusted]",
		"true twice prompt", "true secret variable secret"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
