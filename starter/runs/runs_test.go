package runs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/test/golden"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/clitest"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
)

// The texts follow the name of a tool. Invalid ones are refused.
func TestArguments_BecomeJSON(t *testing.T) {
	for _, c := range []struct {
		name, stdin string
		args        []string
		want, fault string
	}{
		{name: "none", want: `{}`},
		{name: "values are JSON or text", args: []string{"n=3", "s=Ada", "b=true", "l=[1,2]",
			`q="3"`, "e=", "half={"},
			want: `{"b":true,"e":"","half":"{","l":[1,2],"n":3,"q":"3","s":"Ada"}`},
		{name: "a text is one whatever it looks like", args: []string{"zip=01234", "n=1", "zip2=3"},
			want: `{"n":1,"zip":"01234","zip2":3}`},
		{name: "a text in quotes", args: []string{`zip="3"`}, want: `{"zip":"3"}`},
		{name: "a value may hold =", args: []string{"expression=a==b"},
			want: `{"expression":"a==b"}`},
		{name: "big numbers keep their digits", args: []string{"n=12345678901234567890"},
			want: `{"n":12345678901234567890}`},
		{name: "an object", args: []string{` {"n": 1.50} `}, want: `{"n": 1.50}`},
		{name: "standard input", args: []string{"-"}, stdin: "{\"n\": 1}\n", want: `{"n": 1}`},
		{name: "no pair", args: []string{"text"}, fault: `argument "text" is not name=value; write name=value pairs, or all arguments as one JSON object`},
		{name: "no name", args: []string{"=text"}, fault: `argument "=text" is not name=value; write name=value pairs, or all arguments as one JSON object`},
		{name: "twice", args: []string{"a=1", "a=1"}, fault: `argument "a" is given twice; write name=value pairs, or all arguments as one JSON object`},
		{name: "two objects", args: []string{"{}", "{}"}, fault: `argument "{}" is not name=value; write name=value pairs, or all arguments as one JSON object`},
		{name: "too much", args: []string{"-"}, stdin: strings.Repeat(" ", maxInput+1),
			fault: "the arguments on standard input are too large: at most 2,064,384 bytes can be sent"},
		{name: "a list", args: []string{"-"}, stdin: "[]", fault: `the arguments are not a JSON object such as {"name": "value"}`},
		{name: "nothing on standard input", args: []string{"-"}, fault: "the arguments are not JSON: the JSON value is missing"},
	} {
		got, err := parseArguments(c.args, strings.NewReader(c.stdin),
			func(name string) bool { return name == "zip" })
		switch {
		case c.fault != "" && (err == nil || err.Error() != c.fault):
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.fault)
		case c.fault == "" && (err != nil || got != c.want):
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// The summary fits the server's limit.
func TestStart_PassesFlagsToTheRun(t *testing.T) {
	flags := startFlags{Flags: Flags{Caller: "ada"}, variables: []string{"n=3", "s=x"}, queue: "q"}
	s, err := flags.newStart(&cobra.Command{}, api.CallerAgent, api.AgentWorkflow, "librarian")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.id, "librarian-") || len(s.id) != len("librarian-")+8 {
		t.Errorf("id %q", s.id)
	}
	if v := s.input.Variables; fmt.Sprint(v["n"]) != "3" || v["s"] != "x" ||
		s.input.Caller.ID != "ada" {
		t.Errorf("input %+v", s.input)
	}
	s.input.Prompt = strings.Repeat("ü😀", 500)
	if got := s.request().Summary(); len(got) > 400 || !strings.HasPrefix(got, "agent librarian: ü😀") {
		t.Errorf("summary of %d bytes: %q", len(got), got)
	}
	s.input.Prompt = strings.Repeat("x", maxInput)
	if err := s.checkSize(maxInput); err == nil {
		t.Error("an input that the server refuses was accepted")
	}
}

// The server gets the priority of the run's flags and nothing else.
func TestStart_PassesThePriority(t *testing.T) {
	for _, c := range []struct {
		priority     api.Priority
		conversation string
		want         temporal.Priority
	}{
		{"", "", temporal.Priority{}},
		{api.PriorityUrgent, "talk", temporal.Priority{PriorityKey: 1, FairnessKey: "talk"}},
		{api.PriorityNormal, "", temporal.Priority{PriorityKey: 3}},
		{"", strings.Repeat("x", 65),
			temporal.Priority{FairnessKey: api.Digest([]byte(strings.Repeat("x", 65)))}},
	} {
		s := start{input: api.RunInput{Priority: c.priority, Conversation: c.conversation}}
		if got := s.request().Priority(); got != c.want {
			t.Errorf("priority %q in conversation %.10q: %+v, want %+v", c.priority, c.conversation,
				got, c.want)
		}
	}
}

// The runs answered, failed, were cancelled or reached a limit.
func TestReport_ShowsTheEndOfARun(t *testing.T) {
	f := &follower{id: "demo-1", view: &terminal.PlainView{Out: &strings.Builder{}}}
	for _, e := range clitest.AgentRun() {
		if err := f.take(arrival{event: e}); err != nil {
			t.Fatal(err)
		}
	}
	a := &cli.App{Connection: cli.Connection{UI: "http://ui.example/",
		ResolvedNamespace: "default"}}
	r := newReport(a, f)
	golden.Compare(t, "testdata/golden/"+"report.txt", r.text(cli.Palette{}))

	r.end.Type, r.end.Result, r.end.Failure, r.end.FailureType = api.EventRunFailed, nil,
		"no route to the model", api.RunModelFailed
	r.usage = api.Usage{Calls: 1}
	golden.Compare(t, "testdata/golden/"+"report_failed.txt", r.text(cli.Palette{}))
	golden.Compare(t, "testdata/golden/"+"report_brief.txt", r.shortText(cli.Palette{}))

	for _, c := range []struct {
		name  string
		event api.Event
		want  string
	}{
		{"cancelled", api.Event{Type: api.EventRunCancelled}, "cancelled"},
		{"limit", api.Event{Type: api.EventRunCompleted, Result: &api.RunResult{Limit: "turns"}},
			"reached the limit of turns"},
		{"completed", api.Event{Type: api.EventRunCompleted,
			Result: &api.RunResult{Outcome: api.OutcomeCompleted}}, "completed"},
		{"without an answer", api.Event{Type: api.EventRunCompleted}, "run_completed"},
	} {
		if got := (report{end: c.event}).outcome(cli.Palette{}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A short absence of the server prints one note. A long one is an error.
func TestServerAway_IsAwaitedForAWhile(t *testing.T) {
	var notes strings.Builder
	f := &follower{view: &terminal.PlainView{Out: &notes,
		SubAgentNotes: terminal.SubAgentNotes{Notes: &notes}}}
	down := serviceerror.NewUnavailable("down")
	for _, after := range []time.Duration{0, time.Second, cli.GiveUpAfter} {
		if err := f.recordNoAnswer(down, clitest.Noon.Add(after)); err != nil {
			t.Errorf("after %s: %v", after, err)
		}
	}
	if n := strings.Count(notes.String(), "does not answer"); n != 1 {
		t.Errorf("%d notes, want one:\n%s", n, notes.String())
	}
	if err := f.recordNoAnswer(down, clitest.Noon.Add(cli.GiveUpAfter+time.Second)); err == nil {
		t.Error("the absence is never given up")
	}
	if err := f.recordNoAnswer(audit.ErrNotFound, clitest.Noon.Add(time.Hour)); err != nil {
		t.Errorf("%v is not about the connection", err)
	}
}

// The end of a run has the checker's decision in one line, or that there was none.
func TestReport_ShowsTheCheckersDecision(t *testing.T) {
	t.Parallel()
	for want, checked := range map[string]*api.Checked{
		"": nil,
		"fits: solved: six it is": {Tool: "fits", Solved: true,
			Reason: "six\nit is"},
		"fits: not solved": {Tool: "fits"},
		"fits: no evaluation: no form: $: must be one": {Tool: "fits",
			Problem: "no form:\n  $: must be one"},
	} {
		r := report{end: api.Event{Result: &api.RunResult{Checked: checked}}}
		if got := r.describeCheck(); got != want {
			t.Errorf("%+v is shown as %q, want %q", checked, got, want)
		}
	}
}

// The report of a conversation's run names the run that it continues, and how many attempts a
// failed call took.
func TestReport_NamesTheRunBeforeAndAttempts(t *testing.T) {
	r := report{id: "d-plan", end: api.Event{Result: &api.RunResult{},
		Continues: &api.ContinuedRun{WorkflowID: "d", RunID: "r"}},
		records: []api.Record{{CallID: "a", Tool: "pay", Timing: api.Timing{Attempts: 3},
			Error: api.Errorf(api.ErrExecution, "down")}}}
	text := r.text(cli.Palette{})
	for _, want := range []string{"\nafter     starter show d:r\n",
		"\n  a pay execution_error: down, 3 attempts\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
