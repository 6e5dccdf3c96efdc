package lanetest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/witness"
)

// The comparison of records with ledgers finds what contradicts a promise, and nothing else.
func TestComparison_FindsBrokenPromises(t *testing.T) {
	began := time.Now()
	record := func(tool string, kind api.ErrorType) api.Record {
		r := api.Record{Tool: tool, WorkflowID: "r", CallID: "c", Status: api.CallCompleted,
			Arguments: json.RawMessage(`{"n":1}`)}
		r.Closed = began.Add(10 * time.Second)
		if kind != "" {
			r.Status, r.Error = api.CallFailed, api.Errorf(kind, "failed")
		}
		return r
	}
	type seen struct {
		effects int
		begins  []time.Time
		resumed []time.Time
		spans   []witness.Span
	}
	span := func(began time.Duration) witness.Span {
		return witness.Span{Visit: witness.Visit{Lane: "general", Run: "r", Call: "c"},
			Began: began, Ended: began + time.Second, Ending: witness.Done}
	}
	once, late := span(time.Second), span(12*time.Second)
	lateBegin := []time.Time{began.Add(12 * time.Second)}
	for name, test := range map[string]struct {
		record api.Record
		seen   seen
		want   string
	}{
		"completed":           {record("pay", ""), seen{effects: 1}, ""},
		"twice":               {record("pay", ""), seen{effects: 2}, "took effect 2 times"},
		"without effect":      {record("pay", ""), seen{}, "without effect"},
		"failed, with effect": {record("pay", api.ErrExecution), seen{effects: 1}, "not done"},
		"unknown":             {record("pay", api.ErrOutcomeUnknown), seen{effects: 1}, ""},
		"repeated":            {record("put", ""), seen{effects: 2}, ""},
		"repeated after its end": {record("put", ""), seen{effects: 2, begins: lateBegin},
			"began 2s after its end"},
		"once, twice": {record("general_once", ""), seen{spans: []witness.Span{once, once}},
			"took effect 2 times"},
		"read after its end": {record("general", ""), seen{spans: []witness.Span{once, late}},
			"began 2s after its end"},
		"waited at an MCP server": {record("rebook", ""), seen{effects: 2, begins: lateBegin,
			resumed: lateBegin}, ""},
		"late at an MCP server": {record("rereserve", ""), seen{effects: 2, begins: lateBegin},
			"began 2s after its end"},
		"lost": {record("put", api.ErrWorkerLost), seen{}, "workers were lost"},
	} {
		t.Run(name, func(t *testing.T) {
			v := &comparison{faultLab: &faultLab{lab: &lab{Witness: &witness.Witness{Began: began}},
				ledger: &ledger{effects: map[int]int{1: test.seen.effects},
					begins: map[int][]time.Time{1: test.seen.begins}}},
				executions: map[string][]witness.Span{"r/c": test.seen.spans},
				written:    map[int]int{1: test.seen.effects}}
			v.resumed = test.seen.resumed
			got := v.wrong(test.record)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// The results of a stateful tool have the numbers of all calls that completed before, once.
func TestComparison_FindsLostStateOfInstances(t *testing.T) {
	call := func(id, output string, n int64) api.Record {
		r := api.Record{Tool: "journal", CallID: id, Status: api.CallCompleted,
			Arguments: json.RawMessage(`{"n":` + id + `}`),
			Result:    &api.Result{Output: json.RawMessage(output)}}
		r.Scheduled, r.Closed = time.Unix(n, 0), time.Unix(n+1, 0)
		return r
	}
	for output, want := range map[string]int{"[1,2]": 0, "[2]": 1, "[1,2,2]": 1, "7": 1} {
		v := &comparison{}
		v.journals([]api.Record{call("1", "[1]", 1), call("2", output, 3)})
		if len(v.accounts) != want {
			t.Errorf("%s: %q", output, v.accounts)
		}
	}
}
