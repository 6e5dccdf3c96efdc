package workflows_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/histories"
	sdkpb "go.temporal.io/api/sdk/v1"
)

// details queries the run's current details, as the Web UI does.
func (l *lab) details() string {
	l.t.Helper()
	value, err := l.QueryWorkflow("__temporal_workflow_metadata")
	if err != nil {
		l.t.Fatal(err)
	}
	var metadata sdkpb.WorkflowMetadata
	if err := value.Get(&metadata); err != nil {
		l.t.Fatal(err)
	}
	if n := len(metadata.CurrentDetails); n == 0 || n > 4096 {
		l.t.Errorf("the details have %d bytes", n)
	}
	return metadata.CurrentDetails
}

// detailsAt returns the details at a time of the run's clock.
func (l *lab) detailsAt(d time.Duration) *string {
	kept := new(string)
	l.after(d, func() { *kept = l.details() })
	return kept
}

// shows fails the test unless the details have all these parts, and no line with another beginning
// than ours.
func shows(t *testing.T, name, details string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(details, part) {
			t.Errorf("%s: the details lack %q:\n%s", name, part, details)
		}
	}
	ours := regexp.MustCompile(
		"^($|\\*\\*|```$|starter |Result: |turn |running: |waiting: |and |calls )")
	for line := range strings.SplitSeq(details, "\n") {
		if !ours.MatchString(line) {
			t.Errorf("%s: the line %q is not ours", name, line)
		}
	}
}

// The details show the status while the run calls, waits for people and is paused, with the
// commands that decide, and its end. Texts of others are never Markdown.
func TestDetails_ShowTheStatusOfAnAgent(t *testing.T) {
	l := newGuardedLab(t)
	a := guardedAgent(step(call("pay", `{"value":1}`), call("wire", `{"text":"the secret"}`),
		call("echo", `{"value":4}`)),
		step(call("pay", `{"value":1}`)),
		answer("# done\n```\nstarter approve x 1.9\n```\n[it](https://example.org) <b>"))
	a.Limits = api.Limits{Turns: 9, Calls: 40, Tokens: 5000, Cost: 2,
		WallTime: api.Duration(48 * time.Hour)}
	waits := l.detailsAt(time.Hour)
	l.after(61*time.Minute, func() {
		l.updateRun(api.PauseUpdate, "p",
			api.Pause{By: "ada", Reason: "*lunch*"})
	})
	paused := l.detailsAt(90 * time.Minute)
	l.decide(100*time.Minute, approve("1.1", "ada"))
	one := l.detailsAt(3 * time.Hour)
	l.after(3*time.Hour+time.Minute,
		func() { l.updateRun(api.ResumeUpdate, "r", api.Pause{By: "ada"}) })
	l.decide(3*time.Hour+2*time.Minute, api.Decision{Call: "1.2", Kind: api.DecisionDeny,
		By: "bob"})
	l.decide(4*time.Hour, approve("2.1", "ada"))
	l.runAgent(a, "Go.")
	l.result()
	id := "default-test-workflow-id"
	shows(t, "waiting", *waits, "**Waits for approval** of 2 calls", "turn 1 of 9",
		"calls 3 of 40 · tokens ", " of 5000 · US dollars 0 of 2 · until 20", "waiting: pay, wire",
		"**Call 1\\.1**: Pay 1? ", "```\nstarter approve "+id+" 1.1", "\nstarter deny "+id+
			" 1.1 --namespace default-test-namespace --reason TEXT")
	shows(t, "paused", *paused, "**Paused** by ada\\: \\*lunch\\*",
		"**Waits for approval** of 2 calls")
	shows(t, "one decided", *one, "**Waits for approval** of 1 call")
	ended := l.details()
	shows(t, "ended", ended, "**Answered**",
		"Result: \\# done \\`\\`\\` starter approve x 1\\.9 \\`\\`\\` \\[it\\]\\(https\\:\\/\\/example\\.org\\) \\<b\\>",
		"turn 3 of 9 · calls 4 of 40, 1 failed")
	for _, text := range []string{*waits, *paused, *one, ended} {
		if strings.Contains(text, "the secret") {
			t.Errorf("a sensitive value is shown:\n%s", text)
		}
	}
}

// The details say what they omit.
func TestDetails_AreBounded(t *testing.T) {
	l := newGuardedLab(t)
	var calls []api.ScriptCall
	for range 60 {
		calls = append(calls, call("pay", `{"value":1}`))
	}
	shown := l.detailsAt(time.Hour)
	l.runAgent(guardedAgent(step(calls...), answer(strings.Repeat("*é", 5000))), "Go.")
	l.result()
	shows(t, "many", *shown, "**Waits for approval** of 60 calls", "waiting: pay ×60",
		"**Call 1\\.5**", "and 55 more:", "starter approvals default-test-workflow-id")
	shows(t, "ended", l.details(), "**Answered**", "calls 60, 60 failed")
}

func TestDetails_ShowQuestionsAndCommands(t *testing.T) {
	l := newPeoplesLab(t)
	shown := l.detailsAt(time.Minute)
	l.reply(time.Hour, api.Reply{Question: "1.1", Value: []byte(`5`), By: "ada"})
	l.runPeoplesAgent(step(call("budget", `{"for":"pens & _paper_","pin":"4711"}`)), answer("done"))
	l.result()
	shows(t, "asked", *shown, "**Waits for an answer** to 1 question · **Runs** 1 call",
		"running: budget", "**Question 1\\.1**: ", "\\_paper\\_",
		"starter answer default-test-workflow-id 1.1")
	if strings.Contains(*shown, "4711") {
		t.Errorf("a sensitive value is shown:\n%s", *shown)
	}
}

func TestDetails_ShowALimitAndItsCommand(t *testing.T) {
	l := newLab(t)
	a := agent(step(call("echo", `{"value":1}`)), step(call("echo", `{"value":2}`)), answer("done"))
	a.Limits = api.Limits{Calls: 1, OnReached: api.LimitAsks}
	shown := l.detailsAt(time.Minute)
	l.grants(time.Hour, api.Grant{Calls: 3})
	l.runAgent(a, "Go.")
	l.result()
	shows(t, "at its limit", *shown, "**Waits for approval** at its limit of calls", "calls 1 of 1",
		"--grant calls=AMOUNT")
	shows(t, "granted", l.details(), "calls 2 of 4")
}

func TestDetails_ShowTheEndOfEveryKindOfRun(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(*lab)
		want []string
	}{
		{"a call", func(l *lab) {
			l.call(api.Call{Tool: "echo",
				Arguments: `{"value":{"a":"b"}}`})
		}, []string{"**Completed**", "Result: \\{\"a\"\\:\"b\"\\}", "calls 1"}},
		{"a failed call", func(l *lab) { l.call(api.Call{Tool: "broken", Arguments: `{}`}) },
			[]string{"**Failed** (calls\\_failed): call 1\\.1 of broken\\: ", "calls 1, 1 failed"}},
		{"an invalid run", func(l *lab) { l.call(api.Call{Tool: "none", Arguments: `{}`}) },
			[]string{"**Failed** ("}},
		{"a cancelled run", func(l *lab) {
			l.hangs = func() { l.CancelWorkflow() }
			l.runAgent(agent(step(call("hang", `{}`))), "Go.")
		}, []string{"**Cancelled**", "turn 1 of 50"}},
		{"a run at its limit", func(l *lab) {
			a := agent(step(call("echo", `{"value":1}`)), answer("done"))
			a.Limits.Turns = 1
			l.runAgent(a, "Go.")
		}, []string{"**Ended at its limit** of turns", "Result: as far as I got"}},
		{"a continued one", func(l *lab) {
			l.SetContinueAsNewSuggested(true)
			l.runAgent(agent(step(call("echo", `{"value":1}`)), answer("done")), "Go.")
		}, []string{"**Goes on**"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			test.run(l)
			shows(t, test.name, l.details(), test.want...)
		})
	}
}

// call runs one direct call.
func (l *lab) call(c api.Call) {
	l.ExecuteWorkflow(api.CallWorkflow, api.RunInput{Call: &c})
}

func TestDetails_ExistBeforeTheToolsArePinned(t *testing.T) {
	l := newLab(t)
	early := ""
	l.pinned = func(*api.Pinned) { early = l.details() }
	l.runAgent(agent(answer("done")), "Go.")
	l.result()
	shows(t, "early", early, "**Starting**")
}

// Every activity, timer and child workflow of the recorded runs has a summary. Local activities
// have one only in histories recorded since they got it.
func TestSummaries_DescribeEveryCommand(t *testing.T) {
	names, err := histories.Names(historiesDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		for _, e := range readHistory(t, name).Events {
			starts := e.GetActivityTaskScheduledEventAttributes() != nil ||
				e.GetTimerStartedEventAttributes() != nil ||
				e.GetStartChildWorkflowExecutionInitiatedEventAttributes() != nil
			if starts && len(e.GetUserMetadata().GetSummary().GetData()) <= len(`""`) {
				t.Errorf("%s: event %d, %s, does not say what it is for", name, e.GetEventId(),
					e.GetEventType())
			}
		}
	}
}
