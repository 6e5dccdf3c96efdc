package admission

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

func payCatalog(t *testing.T) *toolspecs.Catalog {
	return catalogOf(t, spec("pay", func(s *toolspecs.Spec) {
		s.Approval = &toolspecs.Approval{}
		s.Parameters = append(s.Parameters, toolspecs.Parameter{Name: "pin", Type: "string",
			Sensitive: true})
	}))
}

// The digest of a waiting call does not allow to guess a short sensitive argument. A decision about
// an earlier call does not apply to a repeated request.
func TestApprovalDigest_RevealsNothing(t *testing.T) {
	catalog := payCatalog(t)
	b := setUp(t, catalog, nil)
	arguments := `{"pin":"4711","text":"a"}`
	r := api.AdmissionRequest{Run: "run-1", Tools: toolsOf(catalog), Known: []string{"pay"},
		Calls: []api.Call{{ID: "1.1", Tool: "pay", Arguments: arguments}}}
	tried := api.ApprovalDigest("", r.Run, "1.1", r.Tools[0], json.RawMessage(arguments), nil)
	var digests []string
	for range 2 {
		digests = append(digests, b.admit(t, r)[0].Approval.Digest)
	}
	if digests[0] == digests[1] || slices.Contains(digests, tried) {
		t.Errorf("digests %v, and %s by trying", digests, tried)
	}
}

// The description of an edit repeats none of them, including its execution plan.
func TestEdit_HidesSensitiveArguments(t *testing.T) {
	catalog := payCatalog(t)
	b := setUp(t, catalog, nil)
	r := api.AdmissionRequest{Run: "run-1", Tools: toolsOf(catalog), Known: []string{"pay"},
		Calls: []api.Call{{ID: "1.1", Tool: "pay", Arguments: `{"text":"a","pin":"000000"}`}}}
	v, err := b.Edit(t.Context(), api.EditRequest{Admit: r, Decision: api.Decision{Call: "1.1",
		Kind: api.DecisionEdit, By: "ada",
		Arguments: json.RawMessage(
			`{"pin":"planted-pin","text":"by planted-pin","execution_plan":{"intent":"use planted-pin"}}`)}})
	if err != nil || v.Error != nil {
		t.Fatal(err, v.Error)
	}
	if notes := strings.Join(v.Notes, "\n"); !strings.Contains(notes, "ada approved") ||
		strings.Contains(notes, "planted") {
		t.Errorf("notes: %s", notes)
	}
}

// What people see of a waiting call has no sensitive value, whichever argument, reason or plan
// repeats it.
func TestApprovals_HideSensitiveValuesThatOtherTextsRepeat(t *testing.T) {
	catalog := payCatalog(t)
	b := setUp(t, catalog, nil)
	r := api.AdmissionRequest{Run: "run-1", Tools: toolsOf(catalog), Known: []string{"pay"},
		Calls: []api.Call{{ID: "1.1", Tool: "pay", Ask: "is planted-pin right?",
			Arguments: `{"text":"for planted-pin","pin":"planted-pin",` +
				`"execution_plan":{"intent":"use planted-pin"}}`}}}
	v := b.admit(t, r)[0]
	if v.Approval == nil {
		t.Fatalf("%+v", v)
	}
	shown, err := json.Marshal(v.Approval)
	if err != nil || strings.Contains(string(shown), "planted") ||
		!strings.Contains(v.Approval.Text, "text: for ***") ||
		v.Approval.Reason != "is *** right?" {
		t.Errorf("%s, %v", shown, err)
	}
}

// Clients other than starter can send any text.
func TestEdit_RefusesDuplicateKeys(t *testing.T) {
	catalog := payCatalog(t)
	b := setUp(t, catalog, nil)
	r := api.AdmissionRequest{Run: "run-1", Tools: toolsOf(catalog), Known: []string{"pay"},
		Calls: []api.Call{{ID: "1.1", Tool: "pay", Arguments: `{"text":"a"}`}}}
	v, err := b.Edit(t.Context(), api.EditRequest{Admit: r, Decision: api.Decision{Call: "1.1",
		Kind: api.DecisionEdit, By: "ada", Arguments: json.RawMessage(`{"text":"b","text":"c"}`)}})
	if err != nil || v.Error == nil {
		t.Fatal(err, v)
	}
	const want = "the changed arguments: the key \"text\" is given twice, at byte 12"
	if v.Error.Type != api.ErrValidation || v.Error.Message != want {
		t.Errorf("got %s: %s, want %s", v.Error.Type, v.Error.Message, want)
	}
}

// A policy that asks does not replace the approvers of a tool that asks as well, and a tool whose
// condition does not hold adds none.
func TestApprovals_HaveTheApproversOfToolAndPolicies(t *testing.T) {
	owner, boss := []api.Approver{{Name: "owner"}}, []api.Approver{{Name: "boss"}}
	catalog := catalogOf(t, spec("pay", func(s *toolspecs.Spec) {
		s.Approval = &toolspecs.Approval{When: "args.text != 'free'", Approvers: owner,
			ByCaller: true}
	}))
	rules := policies.NewSet(
		api.PolicyRule{Name: "large", When: "args.text == 'large'", Then: api.PolicyAsk,
			Message: "m", Approvers: boss},
		api.PolicyRule{Name: "free", When: "args.text == 'free'", Then: api.PolicyAsk,
			Message: "m"})
	b := setUp(t, catalog, func(c *Config) {
		c.Policies = func() *policies.Set { return rules }
	})
	for text, want := range map[string]api.ApprovalNeed{
		"small": {ByCaller: true, Approvers: []api.ApproverRule{{Any: owner}}},
		"large": {Rule: "large", Approvers: []api.ApproverRule{{Rule: "large", Any: boss},
			{Any: owner}}},
		"free": {Rule: "free"},
	} {
		r := api.AdmissionRequest{Run: "run-1", Tools: toolsOf(catalog), Known: []string{"pay"},
			PinnedPolicies: rules.PinnedPolicies(),
			Calls:          []api.Call{{ID: "1.1", Tool: "pay", Arguments: `{"text":"` + text + `"}`}}}
		got := b.admit(t, r)[0].Approval
		if got == nil || got.Rule != want.Rule || got.ByCaller != want.ByCaller ||
			!reflect.DeepEqual(got.Approvers, want.Approvers) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// The model reads what changed, also within objects, and no sensitive value.
func TestEdit_NotesWhatChanged(t *testing.T) {
	tool := api.Tool{Sensitive: []string{"pin"}}
	for _, tt := range [][3]string{
		{`{"m":{"to":["a","b"],"s":"x"},"n":1}`, `{"m":{"to":["a"],"s":"x"},"o":{}}`,
			`m.to=["a"], n removed, o={}`},
		{`{"pin":"1111","a":1}`, `{"pin":"secret-2222","a":"secret-2222"}`, `a=***, pin=***`},
		{`{"a":1}`, `{"a":1}`, `none`},
		{`{"pin":{"SECRETNAME":"x","k":"1"}}`, `{"pin":{"k":"2"}}`, `pin=***`},
		{`{"pin":{"k":"1"}}`, `{}`, `pin removed`},
		{`{"pin":"secret-1234","m":"x"}`, `{"pin":"other-9999","m":"was secret-1234"}`,
			`m=was ***, pin=***`},
		{``, `{"city":"Oslo"}`, `city=Oslo`},
	} {
		got := noteOfEdit(api.Decision{By: "ada"}, tool, json.RawMessage(tt[0]),
			json.RawMessage(tt[1]))
		if want := "ada approved this call with changed arguments: " + tt[2]; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
