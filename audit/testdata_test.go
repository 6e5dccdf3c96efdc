package audit_test

import (
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit"
	historypb "go.temporal.io/api/history/v1"
)

// TestGolden proves what is derived of every recorded history, line by line, and that every call has exactly one record.
func TestGolden(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			d := audit.NewDeriver("", "")
			var events []switchyard.Event
			for _, part := range histories(t, s.name) {
				events = append(events, derive(t, d, part)...)
			}
			checkEvents(t, events)
			compareGolden(t, filepath.Join("testdata", s.name+".txt"), lines(events, d.Summary()))
		})
	}
}

// histories reads the recorded histories of a scenario's chain.
func histories(t testing.TB, name string) [][]*historypb.HistoryEvent {
	t.Helper()
	var parts [][]*historypb.HistoryEvent
	for {
		file, err := os.Open(filepath.Join("testdata", fmt.Sprintf("%s.%d.json", name, len(parts)+1)))
		if err != nil && len(parts) > 0 {
			return parts
		}
		if err != nil {
			t.Fatal(err)
		}
		events, err := audit.ReadHistory(file)
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, events)
	}
}

func derive(t testing.TB, d *audit.Deriver, history []*historypb.HistoryEvent) []switchyard.Event {
	t.Helper()
	var events []switchyard.Event
	for _, e := range history {
		derived, err := d.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, derived...)
	}
	return events
}

func collect(t testing.TB, events iter.Seq2[switchyard.Event, error]) []switchyard.Event {
	t.Helper()
	var all []switchyard.Event
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// checkEvents checks what holds of the events of every closed run: no gaps, every call that starts or is asked for ends
// exactly once, nothing comes after the run's end, no secret is shown, and the run counted what the events say.
func checkEvents(t *testing.T, events []switchyard.Event) {
	t.Helper()
	ended := map[string]int{}
	wanted := map[string]bool{}
	var usage switchyard.Usage
	for i, e := range events {
		if e.Sequence != i+1 {
			t.Errorf("event %d has sequence %d", i+1, e.Sequence)
		}
		if e.Time.IsZero() || e.RunID == "" || e.WorkflowID == "" {
			t.Errorf("event %d lacks time, run or workflow: %+v", e.Sequence, e)
		}
		if e.Type == switchyard.EventToolStarted {
			wanted[e.CallID] = true
		}
		if e.Step != nil {
			usage.Turns++
			usage.OutputTokens += e.Step.Usage.OutputTokens
			for _, c := range e.Step.Message.Calls {
				wanted[c.ID] = true
			}
		}
		if r := e.Record; r != nil {
			ended[r.CallID]++
			usage.Calls++
			if r.Error != nil {
				usage.Failed++
			}
			checkRecord(t, *r)
		}
		if text := fmt.Sprintf("%+v %+v %s", e.Step, e.Summary, recordText(e.Record)); strings.Contains(text, "secret") {
			t.Errorf("event %d shows the secret: %s", e.Sequence, text)
		}
	}
	for id := range wanted {
		if ended[id] != 1 {
			t.Errorf("call %s has %d records", id, ended[id])
		}
	}
	last := events[len(events)-1]
	if !slices.Contains([]switchyard.EventType{switchyard.EventRunCompleted, switchyard.EventRunFailed, switchyard.EventRunCancelled}, last.Type) {
		t.Errorf("the last event is %s", last.Type)
	}
	if r := last.Result; r != nil && (r.Usage.Calls != usage.Calls || r.Usage.Failed != usage.Failed || r.Usage.Turns != usage.Turns || r.Usage.OutputTokens != usage.OutputTokens) {
		t.Errorf("the run counted %+v, its events %+v", r.Usage, usage)
	}
}

func recordText(r *switchyard.Record) string {
	if r == nil {
		return ""
	}
	return string(r.Arguments)
}

func checkRecord(t *testing.T, r switchyard.Record) {
	t.Helper()
	if r.Run == "" || r.WorkflowID == "" || r.Caller.Type == "" || r.Conversation == "" || r.Phase == "" || r.Closed.IsZero() {
		t.Errorf("record %s lacks something: %+v", r.CallID, r)
	}
	if (r.Result == nil) == (r.Error == nil) {
		t.Errorf("record %s has result %v and error %v", r.CallID, r.Result, r.Error)
	}
	if r.Status == switchyard.CallCompleted && (r.Attempts == 0 || r.Worker == "" || r.Lane == "" || r.Started.Before(r.Scheduled) ||
		r.Duration != switchyard.Duration(r.Closed.Sub(r.Started)) || r.ResultTokens == 0 || r.EstimatedTokens == 0 || r.Version == "" || r.Digest == "") {
		t.Errorf("record %s of a completed call lacks something: %+v", r.CallID, r)
	}
}

// lines shows events and the summary without what differs from run to run.
func lines(events []switchyard.Event, s audit.Summary) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%d %s", e.Sequence, e.Type)
		if e.Step != nil {
			fmt.Fprintf(&b, " turn=%d lane=%s attempts=%d text=%q", e.Turn, e.Timing.Lane, e.Timing.Attempts, e.Step.Message.Text)
			for _, c := range e.Step.Message.Calls {
				fmt.Fprintf(&b, " %s:%s(%s)", c.ID, c.Tool, c.Arguments)
			}
		}
		if e.CallID != "" {
			fmt.Fprintf(&b, " %s turn=%d %q", e.CallID, e.Turn, e.Summary)
		}
		if r := e.Record; r != nil {
			fmt.Fprintf(&b, " %s phase=%s lane=%s attempts=%d estimated=%d", r.Status, r.Phase, r.Lane, r.Attempts, r.EstimatedTokens)
			if r.LastFailure != "" {
				fmt.Fprintf(&b, " after=%q", r.LastFailure)
			}
			if r.Error != nil {
				fmt.Fprintf(&b, " %s: %q", r.Error.Type, r.Error.Message)
			}
			if r.Result != nil {
				fmt.Fprintf(&b, " result=%s", r.Result.Output)
			}
		}
		if e.Failure != "" {
			fmt.Fprintf(&b, " %s: %q problems=%d", e.FailureType, e.Failure, len(e.Problems))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s %q %s prompt=%q caller=%s/%s conversation=%s parts=%d tools=%d\n", s.Kind, s.Name, s.Status, s.Prompt,
		s.Caller.Type, s.Caller.ID, s.Conversation, len(s.Parts), len(s.Tools))
	fmt.Fprintf(&b, "turns=%d calls=%d failed=%d output_tokens=%d\n", s.Usage.Turns, s.Usage.Calls, s.Usage.Failed, s.Usage.OutputTokens)
	if s.Result != nil {
		fmt.Fprintf(&b, "outcome=%s answer=%q limit=%s output=%s failures=%d\n", s.Result.Outcome, s.Result.Answer, s.Result.Limit, s.Result.Output, len(s.Result.Failures))
	}
	return b.String()
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs (%s records it anew):\ngot:\n%s\nwant:\n%s", file, flag.Lookup("update").Name, got, want)
	}
}
