package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/export"
)

// read reads a file by its own schema alone: names and types of its columns.
func read(t *testing.T, data []byte) (*parquet.File, []map[string]any) {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	rows := parquet.NewGenericReader[any](file)
	defer rows.Close()
	var all []map[string]any
	for {
		batch := make([]any, 1)
		n, err := rows.Read(batch)
		if n == 1 {
			row, ok := batch[0].(map[string]any)
			if !ok {
				t.Fatalf("a row is %T", batch[0])
			}
			all = append(all, row)
		}
		if err == io.EOF {
			return file, all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, records ...api.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	x := export.NewParquet(&b)
	for _, r := range records {
		if err := x.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if seal, err := x.Close(); err != nil || seal != "" {
		t.Fatalf("the end: %q, %v", seal, err)
	}
	return b.Bytes()
}

// A reader without knowledge of Switchyard gets the values: times as times, missing values as null,
// and any text unchanged.
func TestParquet_IsReadByOtherReaders(t *testing.T) {
	at := time.Date(2026, 1, 31, 8, 0, 0, 123456000, time.UTC)
	r := api.Record{
		WorkflowID: "run-1",
		Run:        "first",
		Path:       "1.1",
		CallID:     "1.1",
		Turn:       1,
		Tool:       "send",
		Version:    "1.0.0",
		Status:     api.CallFailed,
		Batched:    true,
		Error:      &api.Error{Type: api.ErrExecution, Message: "no"},
		Timing: api.Timing{
			Lane:      "general",
			Attempts:  2,
			Worker:    "w",
			Scheduled: at,
			Started:   at.Add(time.Second),
			QueueWait: api.Duration(time.Second),
			Duration:  api.Duration(1500 * time.Microsecond),
		},
		Caller: api.Caller{
			Type: api.CallerAgent,
			ID:   "clerk",
		},
		Conversation:    "=SUM(A1)",
		Arguments:       json.RawMessage(`{"text":"ä\u0000"}`),
		EstimatedTokens: 12,
		ResultTokens:    34,
		Evaluation:      &api.EvaluatedResult{Evaluation: "solved", EvaluatedBy: "checker"},
	}
	file, rows := read(t, write(t, r, api.Record{CallID: "2.1", Status: api.CallRunning}))
	if len(rows) != 2 || file.NumRows() != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for name, want := range map[string]any{"workflow_id": "run-1", "tool": "send", "turn": int64(1),
		"status": "failed", "batched": true, "error": "execution_error", "attempts": int64(2),
		"scheduled": at.UnixMicro(), "queue_wait_ms": 1000.0, "duration_ms": 1.5,
		"argument_tokens": int64(12), "result_tokens": int64(34), "caller_type": "agent",
		"caller":       "clerk",
		"conversation": "=SUM(A1)", "arguments": `{"text":"ä\u0000"}`, "evaluation": "solved",
		"evaluated_by": "checker"} {
		if got := plain(rows[0][name]); got != want {
			t.Errorf("%s is %v (%T), want %v", name, got, got, want)
		}
	}
	for _, name := range []string{"error", "scheduled", "started", "closed", "arguments",
		"evaluation"} {
		if got := rows[1][name]; got != nil {
			t.Errorf("%s of a call without one is %v", name, got)
		}
	}
	types := file.Schema().String()
	for _, want := range []string{"closed (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS))",
		"arguments (STRING)"} {
		if !strings.Contains(types, want) {
			t.Errorf("the schema lacks %s:\n%s", want, types)
		}
	}
}

// plain returns a value as its physical type.
func plain(v any) any {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case time.Time:
		return v.UnixMicro()
	}
	return v
}

// The writer buffers at most one bounded group. A file of many calls, or of a few with long
// arguments, has several groups, none longer than the bound.
func TestParquet_BoundsItsRowGroups(t *testing.T) {
	long := json.RawMessage(fmt.Sprintf("%q", strings.Repeat("x", 1<<20)))
	for name, tt := range map[string]struct {
		calls, groups int
		arguments     json.RawMessage
	}{"none": {0, 0, nil}, "one group": {10, 1, nil}, "many calls": {25_000, 3, nil},
		"long arguments": {40, 3, long}} {
		t.Run(name, func(t *testing.T) {
			records := make([]api.Record, tt.calls)
			for i := range records {
				records[i] = api.Record{CallID: fmt.Sprint(i), Arguments: tt.arguments}
			}
			file, _ := read(t, write(t, records...))
			if n := len(file.RowGroups()); n != tt.groups || file.NumRows() != int64(tt.calls) {
				t.Errorf("%d groups of %d rows in all, want %d", n, file.NumRows(), tt.groups)
			}
		})
	}
}

func TestParquet_ReportsWriteErrors(t *testing.T) {
	x := export.NewParquet(full{})
	err := x.Write(api.Record{})
	if _, closed := x.Close(); err == nil && closed == nil {
		t.Error("no error")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
