// Package clitest has test support for the commands of starter.
package clitest

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/switchyard/switchyard/api"
)

// Noon is the start time of the runs in these tests.
var Noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func At(ms int) time.Time { return Noon.Add(time.Duration(ms) * time.Millisecond) }

func ms(n int) api.Duration { return api.Duration(time.Duration(n) * time.Millisecond) }

// Step returns the event that ends a model step with calls, each written as "id tool arguments".
func Step(seq, turn, atMS int, text string, calls ...string) api.Event {
	e := api.Event{Sequence: seq, Type: api.EventStepCompleted, Time: At(atMS),
		WorkflowID: "demo-1", Turn: turn,
		Step: &api.ModelResponse{Model: "some-model", Message: api.Message{Text: text},
			Usage: api.Usage{InputTokens: 1200, OutputTokens: 34}},
		Timing: &api.Timing{Lane: "general", Attempts: 1, Duration: ms(820)}}
	for _, c := range calls {
		parts := strings.SplitN(c, " ", 3)
		e.Step.Message.Calls = append(e.Step.Message.Calls, api.Call{ID: parts[0], Tool: parts[1],
			Arguments: parts[2]})
	}
	return e
}

func ToolStarted(seq, turn, atMS int, id, tool, summary string) api.Event {
	return api.Event{Sequence: seq, Type: api.EventToolStarted, Time: At(atMS),
		WorkflowID: "demo-1", Turn: turn, CallID: id,
		Tool: tool, Summary: summary}
}

// ToolEnded returns the event that ends a call. With a message, the call failed.
func ToolEnded(seq, turn, atMS int, id, tool, arguments, message string) api.Event {
	r := &api.Record{CallID: id, Tool: tool, Arguments: json.RawMessage(arguments),
		Status: api.CallCompleted, Turn: turn,
		Timing: api.Timing{Lane: "general", Attempts: 1, QueueWait: ms(2), Duration: ms(12),
			Scheduled: At(atMS - 14), Started: At(atMS - 12), Closed: At(atMS)}}
	e := api.Event{Sequence: seq, Type: api.EventToolCompleted, Time: At(atMS),
		WorkflowID: "demo-1", Turn: turn, CallID: id,
		Tool: tool, Record: r}
	if message != "" {
		e.Type, r.Status = api.EventToolFailed, api.CallFailed
		r.Error = api.Errorf(api.ErrExecution, "%s", message)
	}
	return e
}

// AgentRun returns a run of two turns with a failure, a retry on its own lane, a compaction, and an
// answer.
func AgentRun() []api.Event {
	retried := ToolEnded(7, 1, 4100, "1.3", "deploy", `{"to":"test"}`, "")
	retried.Record.Lane, retried.Record.Attempts, retried.Record.QueueWait,
		retried.Record.Duration = "serial", 3, ms(1500), ms(2400)
	refused := ToolEnded(8, 2, 5000, "2.1", "raed", `{}`, "")
	refused.Type, refused.Record.Status, refused.Record.Timing = api.EventValidationError,
		api.CallRefused, api.Timing{}
	refused.Record.Error = api.Errorf(api.ErrToolNotFound, "there is no tool %q", "raed")
	compacted := Step(9, 2, 5500, "[Summary]")
	compacted.Step.Compacted = &api.Compacted{Messages: 7, Cut: 1}
	return []api.Event{
		{Sequence: 1, Type: api.EventRunStarted, Time: At(0), WorkflowID: "demo-1"},
		Step(2, 1, 900, "I look around.", `1.1 list {"path":"docs"}`, `1.2 read {"path":"nope.md"}`,
			`1.3 deploy {"to":"test"}`),
		ToolStarted(3, 1, 910, "1.1", "list", "list path=docs"),
		ToolStarted(4, 1, 910, "1.2", "read", "read path=nope.md"),
		ToolEnded(5, 1, 930, "1.2", "read", `{"path":"nope.md"}`, "there is no nope.md"),
		ToolEnded(6, 1, 940, "1.1", "list", `{"path":"docs"}`, ""),
		retried,
		Step(7, 2, 4900, "", `2.1 raed {}`),
		refused,
		compacted,
		Step(10, 3, 6000, "All is well."),
		{Sequence: 11, Type: api.EventRunCompleted, Time: At(6010), WorkflowID: "demo-1",
			RunID: "run-id", Result: &api.RunResult{
				Outcome: api.OutcomeAnswered, Answer: "All is well.",
				Usage: api.Usage{Turns: 3, Calls: 4, Failed: 2, InputTokens: 3600,
					OutputTokens: 102,
					Cost:         0.0125}}},
	}
}

// Terminal returns a terminal to draw on, and a function that ends the drawing and returns all
// output.
func Terminal(t *testing.T) (*os.File, func() string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	drawn := make(chan string)
	go func() {
		data, _ := io.ReadAll(read)
		drawn <- string(data)
	}()
	return write, func() string {
		if err := write.Close(); err != nil {
			t.Fatal(err)
		}
		return <-drawn
	}
}

// Fits fails the test if the drawing is larger than the window.
func Fits(t *testing.T, content string, width, height int) {
	t.Helper()
	lines := strings.Split(content, "\n")
	if len(lines) > height {
		t.Errorf("%d lines in a window of %d", len(lines), height)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > width {
			t.Errorf("a line of %d columns in a window of %d: %q", w, width, line)
		}
	}
}

// CheckDocumented fails the test if docs/cli-json.md lacks a field of the JSON that commands print.
// root is the path of the repository.
func CheckDocumented(t *testing.T, root string, printed ...any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs", "cli-json.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range printed {
		for _, name := range jsonNames(reflect.TypeOf(value)) {
			if !strings.Contains(string(data), "`"+name+"`") {
				t.Errorf("docs/cli-json.md does not describe %s of %T", name, value)
			}
		}
	}
}

// jsonNames returns the JSON names of a struct's fields, including those of embedded structs.
func jsonNames(s reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(s) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
