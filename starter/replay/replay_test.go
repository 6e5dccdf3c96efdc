package replay

import (
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/histories"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/clitest"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

func TestJSONFields_AreDocumented(t *testing.T) {
	clitest.CheckDocumented(t, "../..", replayed{})
}

const recordedHistories = "../../workflows/testdata/histories"

func read(t *testing.T, name string) *historypb.History {
	t.Helper()
	h, err := histories.Read(filepath.Join(recordedHistories, name))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// withAnotherTool returns a history in which the first activity has another type.
func withAnotherTool(t *testing.T) *historypb.History {
	t.Helper()
	h := read(t, "plan")
	for _, e := range h.GetEvents() {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			a.ActivityType = &commonpb.ActivityType{Name: "another"}
			return h
		}
	}
	t.Fatal("the history has no activity")
	return nil
}

// beforeItsFirstTask returns the history of a run that no worker has executed yet.
func beforeItsFirstTask(t *testing.T) *historypb.History {
	h := read(t, "plan")
	h.Events = h.Events[:2]
	return h
}

func ofAnotherApplication(t *testing.T) *historypb.History {
	h := read(t, "plan")
	findStart(h).WorkflowType = &commonpb.WorkflowType{Name: "billing"}
	return h
}

func TestReplay_ReportsEachKindOfOutcome(t *testing.T) {
	unreadable := recorded{workflowID: "demo", runID: "r", err: errors.New("no key")}
	for _, tt := range []struct {
		name   string
		r      recorded
		want   status
		reason string
	}{
		{"a recorded run", fileHistory(read(t, "plan")), statusOK, ""},
		{"a continued run", fileHistory(read(t, "agent_continued.2")), statusOK, ""},
		{"another decision", fileHistory(withAnotherTool(t)), statusNondeterministic, "[TMPRL1100]"},
		{"not started", fileHistory(beforeItsFirstTask(t)), statusSkipped,
			"no worker has executed it yet"},
		{"another application", fileHistory(ofAnotherApplication(t)), statusSkipped,
			"the workflow is not one of Switchyard"},
		{"unreadable", unreadable, statusUnreadable, "no key"},
	} {
		got := tt.r.replay()
		if got.Status != tt.want || !strings.HasPrefix(got.Reason, tt.reason) ||
			(got.Reason == "") != (tt.reason == "") {
			t.Errorf("%s: %+v, want %s with the reason %s", tt.name, got, tt.want, tt.reason)
		}
		bad := tt.want == statusNondeterministic || tt.want == statusUnreadable
		if bad != (got.Remedy != "") {
			t.Errorf("%s has the remedy %q", tt.name, got.Remedy)
		}
	}
}

// seq yields executions without errors.
func seq(list ...recorded) iter.Seq2[recorded, error] {
	return func(yield func(recorded, error) bool) {
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func TestReport_PrintsOneLineForEachExecution(t *testing.T) {
	good := fileHistory(read(t, "plan"))
	good.workflowID, good.runID = "demo", "r1"
	lost := recorded{workflowID: "lost", runID: "r2", err: errors.New("no key")}
	for _, tt := range []struct {
		name, output, out, err string
		all                    []recorded
	}{
		{name: "text", output: cli.OutputText, all: []recorded{good},
			out: "ok  demo  r1  switchyard/plan_run  " + display.Plural(len(good.history.Events),
				"event") + "\n"},
		{name: "an unreadable one", output: cli.OutputText, all: []recorded{lost},
			out: "unreadable  lost  r2    0 events: no key; " + remedyUnreadable + "\n",
			err: "1 of 1 execution could not be read"},
		{name: "JSON", output: cli.OutputJSON, all: []recorded{lost}, err: "exit code 1",
			out: `{"workflow_id":"lost","run_id":"r2","workflow_type":"","history_events":0,` +
				`"status":"unreadable","reason":"no key","remedy":"` + remedyUnreadable + "\"}\n"},
	} {
		var out strings.Builder
		a := &cli.App{Stdio: cli.Stdio{Out: &out}, Format: cli.Format{Output: tt.output}}
		text := ""
		if err := report(a, seq(tt.all...)); err != nil {
			text = err.Error()
		}
		if out.String() != tt.out || text != tt.err {
			t.Errorf("%s: %q with the error %q, want %q with %q", tt.name, out.String(), text, tt.out,
				tt.err)
		}
	}
}

func TestSummarize_FailsIfAnExecutionWouldStop(t *testing.T) {
	for _, tt := range []struct {
		count map[status]int
		want  string
	}{
		{map[status]int{statusOK: 3, statusSkipped: 1}, ""},
		{map[status]int{statusOK: 3, statusNondeterministic: 2},
			"2 of 5 executions would stop on this build"},
	} {
		got := ""
		if err := summarize(&cli.App{}, tt.count); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%v: %q, want %q", tt.count, got, tt.want)
		}
	}
}
