package export

import (
	"bytes"
	"encoding/csv"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
)

func TestCSV_ReadsBackWithoutFormulas(t *testing.T) {
	var b bytes.Buffer
	x := NewCSV(&b)
	r := api.Record{
		CallID: "1.1", Tool: "=cmd()", Status: api.CallCompleted,
		Arguments: []byte("{\"text\":\"a \\\"b\\\", c\"}"), Timing: api.Timing{Duration: 1500000},
		Evaluation: &api.EvaluatedResult{
			WorkflowID:  "demo",
			Evaluation:  "failed",
			EvaluatedBy: "person",
			By:          "ada",
		},
	}
	if err := x.Write(r); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%q, %v", rows, err)
	}
	for name, want := range map[string]string{
		"call_id": "1.1", "tool": "'=cmd()", "status": "completed",
		"arguments":   `{"text":"a \"b\", c"}`,
		"duration_ms": "1.5", "started": "", "evaluation": "failed", "evaluated_by": "person",
	} {
		if got := rows[1][slices.Index(rows[0], name)]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
