package html_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/html"
	"github.com/switchyard/switchyard/internal/test/histories"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// recorded returns the timeline of runs whose histories are in audit/testdata, by their names
// without the part. The chain of the first one can be cut after some parts.
func recorded(t *testing.T, parts int, names ...string) *html.Timeline {
	t.Helper()
	timeline := &html.Timeline{}
	for _, name := range names {
		d, b := history.NewDeriver("", ""), html.NewRun()
		for part := 1; part <= parts; part++ {
			file, err := histories.Open(
				filepath.Join("../testdata", fmt.Sprintf("%s.%d", name, part)))
			if err != nil {
				break
			}
			history, err := history.Parse(file)
			file.Close()
			if err != nil {
				t.Fatal(err)
			}
			for _, event := range history {
				derived, err := d.Add(event)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range derived {
					b.Add(e)
				}
			}
			timeline.Now = history[len(history)-1].GetEventTime().AsTime()
		}
		timeline.AddRun(b, d.Summary(), d.RunningCalls(), nil)
	}
	return timeline
}

// made returns the timeline of an agent with calls on four lanes, some of which failed, were
// refused or retried. name is the agent's.
func made(calls int, name string) *html.Timeline {
	b := html.NewRun()
	lanes := []struct {
		name, tool string
		slots      int
		took       time.Duration
	}{{"general", "read_document", 8, 120 * time.Millisecond}, {"http", "search_the_web", 4,
		340 * time.Millisecond}, {"printer", "print", 1, 90 * time.Millisecond},
		{
			"android/pixel-7-of-the-second-laboratory",
			"take_a_screenshot_of_the_whole_screen_and_describe_it",
			1,
			210 * time.Millisecond,
		}}
	free := map[string][]time.Time{}
	now, turn := noon.Add(500*time.Millisecond), 0
	for n := 0; n < calls; {
		turn++
		usage := api.Usage{InputTokens: 400 + 37*turn%5000, OutputTokens: 30 + turn%70, Cost: 0.001}
		began := now
		now = now.Add(400 * time.Millisecond)
		b.Add(api.Event{
			Type: api.EventStepCompleted,
			Turn: turn,
			Time: now,
			Step: &api.ModelResponse{Usage: usage},
			Timing: &api.Timing{
				Lane:      "general",
				Scheduled: began,
				Started:   began.Add(20 * time.Millisecond),
				Closed:    now,
				Attempts:  1,
			},
		})
		asked, end := now, now
		for i := range min(10, calls-n) {
			n++
			l := lanes[(n*7+i)%(len(lanes)*2)%len(lanes)]
			if free[l.name] == nil {
				free[l.name] = make([]time.Time, l.slots)
			}
			slot := n % l.slots
			r := api.Record{
				CallID:    fmt.Sprintf("%d.%d", turn, i+1),
				Tool:      l.tool,
				Status:    api.CallCompleted,
				Turn:      turn,
				Arguments: json.RawMessage(`{"path":"docs/日本語.md","limit":` + fmt.Sprint(n) + `}`),
			}
			started := free[l.name][slot]
			if started.Before(asked) {
				started = asked.Add(3 * time.Millisecond)
			}
			closed := started.Add(l.took + time.Duration(n%17)*11*time.Millisecond)
			free[l.name][slot] = closed
			r.Timing = api.Timing{
				Lane:      l.name,
				Attempts:  1,
				Worker:    "worker-1",
				Scheduled: asked,
				Started:   started,
				Closed:    closed,
				QueueWait: api.Duration(started.Sub(asked)),
				Duration:  api.Duration(closed.Sub(started)),
			}
			switch {
			case n%23 == 0:
				r.Status, r.Error = api.CallFailed, api.Errorf(api.ErrorType("execution_error"),
					"no such file")
			case n%31 == 0:
				r.Status, r.Error, r.Timing = api.CallRefused, api.Errorf(api.ErrPolicyViolation,
					"not here"), api.Timing{
					Closed: asked,
				}
			case n%13 == 0:
				r.Attempts, r.LastFailure, r.QueueWait = 3, "connection reset", 0
				r.Started = closed.Add(-l.took / 3)
				r.Duration = api.Duration(l.took / 3)
			}
			if !closed.Before(end) {
				end = closed
			}
			b.Add(api.Event{
				Type:   api.EventToolCompleted,
				Turn:   turn,
				Time:   closed,
				CallID: r.CallID,
				Record: &r,
			})
		}
		now = end.Add(5 * time.Millisecond)
	}
	timeline := &html.Timeline{Now: now}
	timeline.AddRun(
		b,
		history.Summary{
			WorkflowID: "made",
			Kind:       history.RunAgent,
			Name:       name,
			Prompt:     "Look at all of it.",
			Status:     history.RunCompleted,
			Started:    noon,
			Closed:     now,
			Usage: api.Usage{
				Turns:        turn,
				Calls:        calls,
				InputTokens:  12345678,
				OutputTokens: 54321,
				Cost:         12.5,
			},
			Result: &api.RunResult{
				Outcome: api.OutcomeAnswered,
				Answer:  "It is all there.",
			},
			Parts: []history.Part{
				{RunID: "a", Started: noon},
				{RunID: "b", Started: noon.Add(now.Sub(noon) / 2)},
			},
		},
		nil,
		nil,
	)
	return timeline
}

func written(t *testing.T, timeline *html.Timeline) string {
	t.Helper()
	var b bytes.Buffer
	if err := timeline.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
