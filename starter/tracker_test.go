package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/test/golden"
	"go.temporal.io/api/serviceerror"
)

// noon is the time at which the runs of these tests start.
var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

func ms(n int) api.Duration { return api.Duration(time.Duration(n) * time.Millisecond) }

// step is the event that ends a model step which asks for calls, each written as "id tool arguments".
func step(seq, turn, atMS int, text string, calls ...string) api.Event {
	e := api.Event{Sequence: seq, Type: api.EventStepCompleted, Time: at(atMS), WorkflowID: "demo-1", Turn: turn,
		Step:   &api.ModelResponse{Model: "some-model", Message: api.Message{Text: text}, Usage: api.Usage{InputTokens: 1200, OutputTokens: 34}},
		Timing: &api.Timing{Lane: "general", Attempts: 1, Duration: ms(820)}}
	for _, c := range calls {
		parts := strings.SplitN(c, " ", 3)
		e.Step.Message.Calls = append(e.Step.Message.Calls, api.Call{ID: parts[0], Tool: parts[1], Arguments: parts[2]})
	}
	return e
}

func toolStarted(seq, turn, atMS int, id, tool, summary string) api.Event {
	return api.Event{Sequence: seq, Type: api.EventToolStarted, Time: at(atMS), WorkflowID: "demo-1", Turn: turn, CallID: id,
		Tool: tool, Summary: summary}
}

// toolEnded is the event that ends a call; a message makes it a failure.
func toolEnded(seq, turn, atMS int, id, tool, arguments, message string) api.Event {
	r := &api.Record{CallID: id, Tool: tool, Arguments: json.RawMessage(arguments), Status: api.CallCompleted, Turn: turn,
		Timing: api.Timing{Lane: "general", Attempts: 1, QueueWait: ms(2), Duration: ms(12),
			Scheduled: at(atMS - 14), Started: at(atMS - 12), Closed: at(atMS)}}
	e := api.Event{Sequence: seq, Type: api.EventToolCompleted, Time: at(atMS), WorkflowID: "demo-1", Turn: turn, CallID: id,
		Tool: tool, Record: r}
	if message != "" {
		e.Type, r.Status = api.EventToolFailed, api.CallFailed
		r.Error = api.Errorf(api.ErrExecution, "%s", message)
	}
	return e
}

// agentRun is a run of two turns with a failure, a retry on a lane of its own, a compaction, and an answer.
func agentRun() []api.Event {
	retried := toolEnded(7, 1, 4100, "1.3", "deploy", `{"to":"test"}`, "")
	retried.Record.Lane, retried.Record.Attempts, retried.Record.QueueWait, retried.Record.Duration = "serial", 3, ms(1500), ms(2400)
	refused := toolEnded(8, 2, 5000, "2.1", "raed", `{}`, "")
	refused.Type, refused.Record.Status, refused.Record.Timing = api.EventValidationError, api.CallRefused, api.Timing{}
	refused.Record.Error = api.Errorf(api.ErrToolNotFound, "there is no tool %q", "raed")
	compacted := step(9, 2, 5500, "[Summary]")
	compacted.Step.Compacted = &api.Compacted{Messages: 7, Cut: 1}
	return []api.Event{
		{Sequence: 1, Type: api.EventRunStarted, Time: at(0), WorkflowID: "demo-1"},
		step(2, 1, 900, "I look around.", `1.1 list {"path":"docs"}`, `1.2 read {"path":"nope.md"}`, `1.3 deploy {"to":"test"}`),
		toolStarted(3, 1, 910, "1.1", "list", "list path=docs"),
		toolStarted(4, 1, 910, "1.2", "read", "read path=nope.md"),
		toolEnded(5, 1, 930, "1.2", "read", `{"path":"nope.md"}`, "there is no nope.md"),
		toolEnded(6, 1, 940, "1.1", "list", `{"path":"docs"}`, ""),
		retried,
		step(7, 2, 4900, "", `2.1 raed {}`),
		refused,
		compacted,
		step(10, 3, 6000, "All is well."),
		{Sequence: 11, Type: api.EventRunCompleted, Time: at(6010), WorkflowID: "demo-1", RunID: "run-id", Result: &api.RunResult{
			Outcome: api.OutcomeAnswered, Answer: "All is well.",
			Usage: api.Usage{Turns: 3, Calls: 4, Failed: 2, InputTokens: 3600, OutputTokens: 102, Cost: 0.0125}}},
	}
}

// compareGolden compares text with a file of testdata/golden, or writes the file with -update.
func compareGolden(t *testing.T, name, text string) {
	t.Helper()
	golden.Compare(t, "testdata/golden/"+name, text)
}

// TestTrackerFinishedLines proves what scrolls into the terminal for a whole run: each turn once, its calls in the order
// in which they were made, whatever order they ended in.
func TestTrackerFinishedLines(t *testing.T) {
	tr := &tracker{}
	var lines []string
	for _, e := range agentRun() {
		lines = append(lines, tr.event(e)...)
	}
	compareGolden(t, "finished.txt", strings.Join(lines, "\n")+"\n")
	if rest := tr.rest(at(7000)); len(rest) > 0 {
		t.Errorf("still open at the end: %q", rest)
	}
}

// TestTrackerLive proves what is drawn while a turn is open: ended, running, waiting, backing off and planned calls, the
// model step, and that no more lines are drawn than there is room for.
func TestTrackerLive(t *testing.T) {
	tr := &tracker{}
	for _, e := range []api.Event{
		step(2, 1, 900, "I look around.", `1.1 list {"path":"docs"}`, `1.2 read {"path":"a.md"}`, `1.3 deploy {"to":"test"}`, `1.4 deploy {"to":"live"}`),
		toolStarted(3, 1, 910, "1.1", "list", "list path=docs"),
		toolStarted(4, 1, 910, "1.2", "read", "read path=a.md"),
		toolStarted(5, 1, 910, "1.3", "deploy", "deploy to=test"),
		toolEnded(6, 1, 930, "1.1", "list", `{"path":"docs"}`, ""),
	} {
		tr.event(e)
	}
	tr.pending([]audit.Running{
		{Kind: audit.KindCall, ID: "1.2", Tool: "read", State: audit.StateBackingOff, Attempt: 2, MaxAttempts: 5, Since: at(1000),
			NextAttempt: at(3500), LastFailure: "connection reset"},
		{Kind: audit.KindCall, ID: "1.3", Tool: "deploy", Lane: "serial", State: audit.StateWaiting, Attempt: 1, Since: at(910)},
		{Kind: audit.KindStep, ID: "turn-2", State: audit.StateRunning, Attempt: 1, Since: at(1500)},
		{Kind: audit.KindRun, State: audit.StateWaiting, Since: at(1500)},
	})
	compareGolden(t, "live.txt", strings.Join(tr.live(at(3000), "*", 20), "\n")+"\n")
	compareGolden(t, "live_small.txt", strings.Join(tr.live(at(3000), "*", 6), "\n")+"\n")
	compareGolden(t, "rest.txt", strings.Join(tr.rest(at(3000)), "\n")+"\n")
	for limit := 1; limit < 10; limit++ {
		if n := len(tr.live(at(3000), "*", limit)); n > max(limit, 4) {
			t.Errorf("%d lines where there is room for %d", n, limit)
		}
	}
}

// TestTrackerPlan proves that the calls of a plan, which has no turns, scroll away as they end, so that a long plan does
// not pile up.
func TestTrackerPlan(t *testing.T) {
	tr := &tracker{}
	for i := range 1000 {
		id := "call" + api.Thousands(i)
		tr.event(toolStarted(2*i, 0, 10*i, id, "echo", "echo text=x"))
		if lines := tr.event(toolEnded(2*i+1, 0, 10*i+5, id, "echo", `{"text":"x"}`, "")); len(lines) != 1 {
			t.Fatalf("call %d: %q scrolled away, want one line", i, lines)
		}
	}
	if len(tr.calls) != 0 {
		t.Errorf("%d calls are still kept", len(tr.calls))
	}
}

// TestPlainLines proves the stable form of progress outside of a terminal.
func TestPlainLines(t *testing.T) {
	var b strings.Builder
	v := &plainView{out: &b, tellsBelow: tellsBelow{notes: &b}}
	for _, e := range agentRun() {
		if err := v.event(e); err != nil {
			t.Fatal(err)
		}
	}
	failed := api.Event{Sequence: 11, Type: api.EventRunFailed, Time: at(7000), FailureType: api.RunModelFailed,
		Failure: "the model step of turn 1 failed:\nno route"}
	if err := v.event(failed); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "plain.txt", b.String())
}

// TestReport proves what is told at the end of a run that answered, failed, was cancelled or reached a limit.
func TestReport(t *testing.T) {
	f := &follower{id: "demo-1", view: &plainView{out: &strings.Builder{}}}
	for _, e := range agentRun() {
		if err := f.take(arrival{event: e}); err != nil {
			t.Fatal(err)
		}
	}
	a := &app{connection: connectionFlags{ui: "http://ui.example/", resolvedNamespace: "default"}}
	r := a.newReport(f)
	compareGolden(t, "report.txt", r.text(palette{}))

	r.end.Type, r.end.Result, r.end.Failure, r.end.FailureType = api.EventRunFailed, nil, "no route to the model", api.RunModelFailed
	r.usage = api.Usage{Calls: 1}
	compareGolden(t, "report_failed.txt", r.text(palette{}))
	compareGolden(t, "report_brief.txt", r.brief(palette{}))

	for _, c := range []struct {
		name  string
		event api.Event
		want  string
	}{
		{"cancelled", api.Event{Type: api.EventRunCancelled}, "cancelled"},
		{"limit", api.Event{Type: api.EventRunCompleted, Result: &api.RunResult{Limit: "turns"}}, "reached its limit of turns"},
		{"completed", api.Event{Type: api.EventRunCompleted, Result: &api.RunResult{Outcome: api.OutcomeCompleted}}, "completed"},
		{"nothing said", api.Event{Type: api.EventRunCompleted}, "run_completed"},
	} {
		if got := (report{end: c.event}).outcome(palette{}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestServerAway proves that a short absence of the server is sat out with one note, and a long one is an error.
func TestServerAway(t *testing.T) {
	var notes strings.Builder
	f := &follower{view: &plainView{out: &notes, tellsBelow: tellsBelow{notes: &notes}}}
	down := serviceerror.NewUnavailable("down")
	for _, after := range []time.Duration{0, time.Second, giveUpAfter} {
		if err := f.missed(down, noon.Add(after)); err != nil {
			t.Errorf("after %s: %v", after, err)
		}
	}
	if n := strings.Count(notes.String(), "does not answer"); n != 1 {
		t.Errorf("%d notes, want one:\n%s", n, notes.String())
	}
	if err := f.missed(down, noon.Add(giveUpAfter+time.Second)); err == nil {
		t.Error("the absence is never given up")
	}
	if err := f.missed(audit.ErrNotFound, noon.Add(time.Hour)); err != nil {
		t.Errorf("%v is not about the connection", err)
	}
}
