package audit_test

import (
	"cmp"
	"fmt"
	"iter"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/test/golden"
	library "github.com/switchyard/switchyard/internal/test/histories"
	historypb "go.temporal.io/api/history/v1"
)

// The derived lines of every recorded history match, and every call has exactly one record.
func TestGolden_DerivesTheRecordedHistories(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			d := history.NewDeriver("", "")
			var events []api.Event
			for _, part := range histories(t, s.name) {
				events = append(events, derive(t, d, part)...)
			}
			checkEvents(t, events)
			golden.Compare(t, filepath.Join("testdata", s.name+".txt"), lines(events, d.Summary()))
		})
	}
}

// histories reads the recorded histories of a scenario's chain.
func histories(t testing.TB, name string) [][]*historypb.HistoryEvent {
	t.Helper()
	var parts [][]*historypb.HistoryEvent
	for {
		file, err := library.Open(historyFile(name, len(parts)+1))
		if err != nil && len(parts) > 0 {
			return parts
		}
		if err != nil {
			t.Fatal(err)
		}
		events, err := history.Parse(file)
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, events)
	}
}

// historyFile returns the path of the recorded history of one part of a run, without its extension.
func historyFile(id string, part int) string {
	return filepath.Join("testdata", fmt.Sprintf("%s.%d", strings.ReplaceAll(id, "/", "_"), part))
}

// derive derives the events of a history that need not have the workflow tasks of a whole one: what
// a Lookahead keeps at its end is what the run has not decided about.
func derive(t testing.TB, d *history.Deriver, recorded []*historypb.HistoryEvent) []api.Event {
	t.Helper()
	var events []api.Event
	taken := 0
	take := func(ready []*historypb.HistoryEvent, err error) {
		for _, e := range ready {
			derived, failure := d.Add(e)
			err = cmp.Or(err, failure)
			events = append(events, derived...)
		}
		if taken += len(ready); err != nil {
			t.Fatal(err)
		}
	}
	ahead := history.NewLookahead(d)
	for _, e := range recorded {
		take(ahead.Add(e))
	}
	take(ahead.Flush())
	take(recorded[taken:], nil)
	return events
}

func collect[V any](t testing.TB, values iter.Seq2[V, error]) []V {
	t.Helper()
	var all []V
	for v, err := range values {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// recordsOf returns the records of events.
func recordsOf(events []api.Event) []api.Record {
	var records []api.Record
	for _, e := range events {
		if e.Record != nil {
			records = append(records, *e.Record)
		}
	}
	return records
}

// checkEvents checks invariants of the events of closed runs: no gaps, every call that starts or is
// requested ends exactly once, nothing follows the end of the run, no secret occurs, and the run
// counted what the events show.
func checkEvents(t *testing.T, events []api.Event) {
	t.Helper()
	var usage api.Usage
	wanted := map[string]bool{}
	for i, e := range events {
		checkEvent(t, e, i+1)
		for _, id := range askedFor(e) {
			wanted[id] = true
		}
		if e.Step != nil {
			usage.Turns++
			usage.OutputTokens += e.Step.Usage.OutputTokens
		}
	}
	ended := map[string]int{}
	for _, r := range recordsOf(events) {
		checkRecord(t, r)
		ended[r.CallID]++
		usage.Calls++
		if r.Error != nil {
			usage.Failed++
		}
		usage.Add(r.Usage)
	}
	for id := range wanted {
		if ended[id] != 1 {
			t.Errorf("call %s has %d records", id, ended[id])
		}
	}
	checkEnd(t, events[len(events)-1], usage)
}

func checkEvent(t *testing.T, e api.Event, sequence int) {
	t.Helper()
	if e.Sequence != sequence || e.Time.IsZero() || e.RunID == "" || e.WorkflowID == "" {
		t.Errorf("event %d lacks its number, time, run or workflow: %+v", sequence, e)
	}
	if text := fmt.Sprintf("%+v", e) + fmt.Sprintf("%+v", e.Step); strings.Contains(text,
		"secret") {
		t.Errorf("event %d shows the secret: %s", sequence, text)
	}
}

// askedFor returns the calls that an event requests.
func askedFor(e api.Event) []string {
	var ids []string
	if e.Type == api.EventToolStarted {
		ids = append(ids, e.CallID)
	}
	if e.Step != nil {
		for _, c := range e.Step.Message.Calls {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func checkEnd(t *testing.T, last api.Event, usage api.Usage) {
	t.Helper()
	if !slices.Contains(
		[]api.EventType{api.EventRunCompleted, api.EventRunFailed, api.EventRunCancelled},
		last.Type) {
		t.Errorf("the last event is %s", last.Type)
	}
	if last.Result == nil {
		return
	}
	counted := last.Result.Usage
	counted.InputTokens, counted.Cost, usage.InputTokens = 0, 0, 0
	if counted != usage {
		t.Errorf("the run counted %+v, its events %+v", counted, usage)
	}
}

func checkRecord(t *testing.T, r api.Record) {
	t.Helper()
	if strings.Contains(string(r.Arguments), "secret") {
		t.Errorf("record %s shows the secret: %s", r.CallID, r.Arguments)
	}
	if (r.Result == nil) == (r.Error == nil) {
		t.Errorf("record %s has result %v and error %v", r.CallID, r.Result, r.Error)
	}
	missing := zeroFields(r, "Priority", "Run", "WorkflowID", "Caller", "Conversation", "Phase",
		"Closed")
	if r.Status == api.CallCompleted {
		missing = append(
			missing,
			zeroFields(r, "Version", "Digest", "ResultTokens", "EstimatedTokens", "Attempts",
				"Lane", "Scheduled", "Started")...)
		if r.Child == nil {
			missing = append(missing, zeroFields(r, "Worker")...)
		}
	}
	if len(missing) > 0 {
		t.Errorf("record %s lacks %v: %+v", r.CallID, missing, r)
	}
	wait := api.Duration(0)
	if r.Attempts == 1 {
		wait = api.Duration(r.Started.Sub(r.Scheduled))
	}
	if !r.Started.IsZero() &&
		(r.QueueWait != wait || r.Duration != api.Duration(r.Closed.Sub(r.Started))) {
		t.Errorf("record %s has times that do not fit: %+v", r.CallID, r)
	}
}

func zeroFields(r api.Record, names ...string) []string {
	value := reflect.ValueOf(r)
	return slices.DeleteFunc(names,
		func(name string) bool { return !value.FieldByName(name).IsZero() })
}

// lines renders events and the summary without what differs from run to run.
func lines(events []api.Event, s history.Summary) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(line(e) + "\n")
	}
	fmt.Fprintf(&b, "%s %q %s prompt=%q caller=%s/%s conversation=%s parts=%d tools=%d\n", s.Kind,
		s.Name, s.Status, s.Prompt, s.Caller.Type, s.Caller.ID, s.Conversation, len(s.Parts),
		len(s.Tools))
	fmt.Fprintf(&b, "turns=%d calls=%d failed=%d output_tokens=%d\n", s.Usage.Turns, s.Usage.Calls,
		s.Usage.Failed, s.Usage.OutputTokens)
	if s.Result != nil {
		fmt.Fprintf(&b, "outcome=%s answer=%q limit=%s output=%s failures=%d\n", s.Result.Outcome,
			s.Result.Answer, s.Result.Limit, s.Result.Output, len(s.Result.Failures))
	}
	return b.String()
}

func line(e api.Event) string {
	text := fmt.Sprintf("%d %s", e.Sequence, e.Type)
	if e.Step != nil {
		text += fmt.Sprintf(" turn=%d lane=%s attempts=%d text=%q", e.Turn, e.Timing.Lane,
			e.Timing.Attempts, e.Step.Message.Text)
		if c := e.Step.Compacted; c != nil {
			text += fmt.Sprintf(" compacted=%d", c.Messages)
		}
		for _, c := range e.Step.Message.Calls {
			text += fmt.Sprintf(" %s:%s(%s)", c.ID, c.Tool, c.Arguments)
		}
	}
	if e.CallID != "" {
		text += fmt.Sprintf(" %s turn=%d %q", e.CallID, e.Turn, e.Summary)
	}
	if q := e.Question; q != nil {
		text += fmt.Sprintf(" question=%s %q schema=%d", q.ID, q.Text, len(q.Schema))
	}
	if e.Reply != nil {
		text += fmt.Sprintf(" %q value=%d", people.ReplyNote(*e.Reply), len(e.Reply.Value))
	}
	if e.Record != nil {
		text += recordLine(*e.Record)
	}
	if e.Failure != "" {
		text += fmt.Sprintf(" %s: %q problems=%d", e.FailureType, e.Failure, len(e.Problems))
	}
	return text
}

func recordLine(r api.Record) string {
	text := fmt.Sprintf(" %s phase=%s lane=%s attempts=%d estimated=%d", r.Status, r.Phase, r.Lane,
		r.Attempts, r.EstimatedTokens)
	if r.Priority != api.PriorityNormal {
		text += fmt.Sprintf(" priority=%s", r.Priority)
	}
	if r.Child != nil {
		text += fmt.Sprintf(" path=%s by=%s calls=%d", r.Path, r.Child.WorkflowID, r.Usage.Calls)
	}
	if r.LastFailure != "" {
		text += fmt.Sprintf(" after=%q", r.LastFailure)
	}
	if r.Error != nil {
		text += fmt.Sprintf(" %s: %q", r.Error.Type, r.Error.Message)
	}
	if r.Result != nil {
		text += fmt.Sprintf(" result=%s", r.Result.Output)
	}
	return text
}
