package turn

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// logged describes the calls of a log in short.
func logged(l *Log) string {
	var all []string
	for _, c := range l.Calls("") {
		text := fmt.Sprintf("%s %s %s %s%s", c.ID, c.Status, c.Arguments, c.Result, c.Text)
		if c.NotKept {
			text += "not kept"
		}
		all = append(all, text+strings.Join(c.Labels, ","))
	}
	return strings.Join(all, "; ")
}

// A call is running until its end. Its entry is not changed then, but replaced.
func TestLog_HasCallsWithArgumentsAndResults(t *testing.T) {
	facts := NewFacts(&api.RunInput{})
	keep := true
	facts.Log.Keep = func() bool { return keep }
	calls := []api.Call{{ID: "1.1", Tool: "pay", Arguments: "{}"}, {ID: "1.2", Tool: "mail",
		Arguments: "{}"}, {ID: "1.3", Tool: "pay"}, {ID: "1.4", Tool: "pay"},
		{ID: "1.5", Tool: "pay"}}
	facts.RecordAdmissions(calls, []api.AdmissionDecision{{ID: "1.1"}, {ID: "1.2",
		Arguments: json.RawMessage(`{"a":1}`)}, {ID: "1.3", Error: &api.Error{}}, {ID: "1.4"},
		{ID: "1.5"}}, 1, time.Unix(5, 0))
	before := facts.Log.Calls("1.1")
	facts.RecordChange("1.1", []byte(`{"b":2}`))
	facts.LabelCall("1.1", []string{"below"})
	facts.RecordOutcome(api.CallOutcome{ID: "1.1", Tool: "pay",
		Result: &api.Result{Output: json.RawMessage(`"paid"`)}}, api.Tool{Emits: []string{"bank"}})
	facts.RecordRefusal(calls[2])
	facts.RecordOutcome(api.CallOutcome{ID: "1.4", Tool: "pay", Error: &api.Error{Message: "closed"}},
		api.Tool{})
	keep = false
	facts.RecordOutcome(api.CallOutcome{ID: "1.5", Tool: "pay", Result: &api.Result{}}, api.Tool{})
	want := `1.1 completed {"b":2} "paid"below,bank; 1.3 refused  ; 1.4 failed  closed; ` +
		`1.5 completed  not kept; 1.2 running {"a":1} `
	if got := logged(&facts.Log); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(before) != 3 || before[0].ID != "1.2" || before[0].Time != time.Unix(5, 0) {
		t.Errorf("the calls before were changed: %+v", before)
	}
}

// The newest calls are kept, and fewer bytes of them continue as new.
func TestLog_IsBounded(t *testing.T) {
	l := &Log{Keep: func() bool { return true }}
	for i := range maxLogged + 5 {
		l.refuse(api.Call{ID: fmt.Sprint(i), Tool: "a"})
	}
	if calls := l.Calls(""); len(calls) != maxLogged || calls[0].ID != "5" {
		t.Errorf("%d calls from %s on", len(calls), calls[0].ID)
	}
	output, _ := json.Marshal(strings.Repeat("x", maxLoggedCall-2))
	long, _ := json.Marshal(strings.Repeat("x", maxLoggedCall))
	for i := range 40 {
		l.end(api.CallOutcome{ID: fmt.Sprint("o", i), Result: &api.Result{Output: output}}, nil, nil)
	}
	l.end(api.CallOutcome{ID: "long", Result: &api.Result{Output: long}}, nil, nil)
	calls := l.Calls("")
	if last := calls[len(calls)-1]; l.bytes > maxLoggedBytes || len(last.Result) > 0 ||
		last.Text == "" {
		t.Errorf("%d bytes, the last has %d", l.bytes, last.Size())
	}
	continued := l.ContinueCalls()
	var next Log
	next.resume(continued)
	if n := len(next.Calls("")); n != continuedBytes/maxLoggedCall-1 || n != len(continued.Value) {
		t.Errorf("%d calls continue as new", n)
	}
	next.resume(nil)
	if next.ContinueCalls() != nil {
		t.Error("calls continue as new where no rule reads them")
	}
}

// Each call has what its arguments can have come from: the calls that had ended and the labels of
// the run when it was admitted. The arguments are those that the tool saw, or unknown.
func TestLog_TellsWhatTheArgumentsOfACallCanHaveComeFrom(t *testing.T) {
	facts := NewFacts(&api.RunInput{Labels: []string{"given"}})
	facts.Log.Keep = func() bool { return true }
	long := `{"a":"` + strings.Repeat("x", maxLoggedCall) + `"}`
	output := func(text string) *api.Result {
		return &api.Result{Output: json.RawMessage(`"` + text + `"`)}
	}
	admit := func(id, batch string, v api.AdmissionDecision) {
		v.ID, v.Batch = id, batch
		facts.RecordAdmissions([]api.Call{{ID: id, Tool: "t", Arguments: "{}"}},
			[]api.AdmissionDecision{v}, 1, time.Time{})
	}
	end := func(id string, r *api.Result, emits ...string) {
		facts.RecordOutcome(api.CallOutcome{ID: id, Tool: "t", Result: r}, api.Tool{Emits: emits})
	}
	admit("1.1", "", api.AdmissionDecision{})
	admit("1.2", "", api.AdmissionDecision{Arguments: json.RawMessage(`{"default":1}`)})
	end("1.1", output("page"), "untrusted")
	facts.RecordChange("1.2", []byte(`{"edited":1}`))
	facts.LabelCall("1.2", []string{"below"})
	admit("2.1", "", api.AdmissionDecision{Arguments: json.RawMessage(long)})
	end("1.2", output("edited"))
	end("2.1", output("long"))
	admit("3.1", "3.1", api.AdmissionDecision{})
	admit("3.2", "3.1", api.AdmissionDecision{})
	end("3.1", &api.Result{Parts: []api.CallOutcome{{ID: "3.2", Result: output("second")},
		{ID: "3.1", Error: &api.Error{Message: "first"}}}})
	end("3.2", output("second"))
	end("3.1-verify", output("verified"))
	var next Log
	packed := facts.Log.ContinueCalls()
	next.resume(packed)
	next.begin(api.Call{ID: "4.1"}, api.AdmissionDecision{ID: "4.1"}, 4, time.Time{}, nil)
	var got []string
	for _, c := range next.Calls("") {
		line := fmt.Sprintf("%s %s %s%s after %d place %d in %v", c.ID, c.Status, c.Result, c.Text,
			c.After, c.Place, c.RunLabels)
		if c.Batch != "" {
			line += " batch " + c.Batch
		}
		if c.Unknown {
			line += " unknown"
		}
		got = append(got, line+" "+c.Arguments)
	}
	want := `1.1 completed "page" after 0 place 1 in [given] {}
1.2 completed "edited" after 0 place 2 in [given] {"edited":1}
2.1 completed "long" after 1 place 3 in [below given untrusted] unknown ` + `
3.1 failed first after 3 place 4 in [below given untrusted] batch 3.1 {}
3.2 completed "second" after 3 place 5 in [below given untrusted] batch 3.1 {}
3.1-verify completed "verified" after 5 place 6 in [below given untrusted] unknown ` + `
4.1 running  after 6 place 0 in [] ` + ``
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A run knows its instructions and what people wrote. A sub-agent has the words of the run at the
// top, and its own prompt is that of a model.
func TestStatements_TellWhoWroteATextToARun(t *testing.T) {
	agent := &api.Agent{Instructions: "be kind"}
	top := []*api.Statement{{Kind: api.SourcePrompt, Text: "the top"}}
	for name, c := range map[string]struct {
		in      api.RunInput
		want    string
		unknown bool
	}{
		"an agent": {api.RunInput{Agent: agent, Prompt: "hello"},
			"instructions be kind, prompt hello, message more", false},
		"a sub-agent": {api.RunInput{Agent: agent, Prompt: "hello", Parent: &api.Parent{},
			Labels: []string{"l"}, Statements: top},
			"instructions be kind, prompt the top, parent hello l, message more", false},
		"a sub-agent of a run without such rules": {api.RunInput{Agent: agent, Prompt: "hello",
			Parent: &api.Parent{}}, "instructions be kind, parent hello, message more", true},
		"continued": {api.RunInput{Agent: agent, State: &api.ContinueState{Statements: top}},
			"instructions be kind, prompt the top, message more", false},
		"continued without such rules": {api.RunInput{Agent: agent, State: &api.ContinueState{}},
			"instructions be kind, message more", true},
		"begun elsewhere": {api.RunInput{Agent: agent, Beginning: &api.Beginning{}},
			"instructions be kind, message more", true},
		"a plan": {api.RunInput{}, "message more", false},
	} {
		s := NewStatements(&c.in, func() bool { return true })
		s.Add(api.SourceMessage, "more")
		var all []string
		for _, one := range s.All() {
			all = append(all, strings.TrimSpace(strings.Join(append([]string{string(one.Kind),
				one.Text}, one.Labels...), " ")))
		}
		if got := strings.Join(all, ", "); got != c.want || s.Unknown != c.unknown {
			t.Errorf("%s: %s, unknown: %v", name, got, s.Unknown)
		}
		for _, one := range s.Select(api.SourcePrompt) {
			if one.Kind != api.SourcePrompt {
				t.Errorf("%s: passed %+v", name, one)
			}
		}
	}
}

// They are bounded, and passed on only where rules read them.
func TestStatements_AreBounded(t *testing.T) {
	keep := true
	s := NewStatements(&api.RunInput{}, func() bool { return keep })
	for range 20 {
		s.Add(api.SourceMessage, strings.Repeat("x", 30<<10))
	}
	if n, passed := len(s.All()), len(s.Select(api.SourceMessage)); n != 8 || passed != 2 {
		t.Errorf("%d texts, %d passed", n, passed)
	}
	if keep = false; s.Select(api.SourceMessage) != nil {
		t.Error("texts are passed on without a rule")
	}
}
