package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

func exportOf(t *testing.T, records ...api.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	x := NewJSON(&out)
	for _, r := range records {
		if err := x.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readRecords(data []byte) (all []api.Record, err error) {
	for r, e := range Read(bytes.NewReader(data)) {
		if e != nil {
			return all, e
		}
		all = append(all, r)
	}
	return all, nil
}

func TestRead_ReturnsTheWrittenRecords(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	records := []api.Record{
		{WorkflowID: "a", Run: "a1", CallID: "1.1", Path: "1.1", Turn: 1, Tool: "send",
			Version: "1.0.0", Status: api.CallCompleted, Phase: api.PhasePostExecution,
			Arguments: json.RawMessage(`{"to":"x"}`), Labels: []string{"untrusted"},
			Policies: []api.PolicyAction{{Rule: "no", Effect: api.PolicyWarn, Message: "m"}},
			Caller:   api.Caller{Type: api.CallerAgent, ID: "clerk", Auth: "jwt"},
			Child:    &api.ChildRun{WorkflowID: "a/1.1"},
			Timing:   api.Timing{Lane: "general", Scheduled: at, Started: at, Closed: at}},
		{WorkflowID: "a", Run: "a1", CallID: "2.1", Path: "2.1", Turn: 2, Tool: "send",
			Status: api.CallRefused, Error: api.Errorf(api.ErrPolicyViolation, "no")},
	}
	got, err := readRecords(exportOf(t, records...))
	if err != nil || !reflect.DeepEqual(got, records) {
		t.Errorf("read\n%+v, %v, want\n%+v", got, err, records)
	}
}

func TestRead_EndsAtALineThatWasChanged(t *testing.T) {
	data := exportOf(t, api.Record{CallID: "1.1", Tool: "send"}, api.Record{CallID: "1.2",
		Tool: "send"}, api.Record{CallID: "1.3", Tool: "send"})
	changed := bytes.Replace(data, []byte(`"call_id":"1.2"`), []byte(`"call_id":"9.9"`), 1)
	if _, err := readRecords(changed); !errors.Is(err, ErrChain) {
		t.Errorf("a changed line gave %v, want ErrChain", err)
	}
	if _, err := readRecords(data[:len(data)-20]); !errors.Is(err, ErrChain) {
		t.Errorf("a cut export gave %v, want ErrChain", err)
	}
}
