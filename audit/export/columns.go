package export

import (
	"encoding/json"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// columnType is how the values of a column are written.
type columnType int

const (
	// text is null where it is empty.
	text columnType = iota
	integer
	number
	boolean
	// timestamp is null for the zero time.
	timestamp
	// document is JSON; null where the record has no such part.
	document
)

// column is one column of CSV.
type column struct {
	name string
	of   columnType
	// value returns a string, int, float64, bool or time.Time as the type says, and any value that
	// has JSON for a document.
	value func(*api.Record) any
}

// columns are in order. A new column of a record is one entry here.
var columns = []column{
	{"workflow_id", text, func(r *api.Record) any { return r.WorkflowID }},
	{"run_id", text, func(r *api.Record) any { return r.Run }},
	{"path", text, func(r *api.Record) any { return r.Path }},
	{"call_id", text, func(r *api.Record) any { return r.CallID }},
	{"turn", integer, func(r *api.Record) any { return r.Turn }},
	{"tool", text, func(r *api.Record) any { return r.Tool }},
	{"version", text, func(r *api.Record) any { return r.Version }},
	{"digest", text, func(r *api.Record) any { return r.Digest }},
	{"status", text, func(r *api.Record) any { return string(r.Status) }},
	{"phase", text, func(r *api.Record) any { return string(r.Phase) }},
	{"dry_run", boolean, func(r *api.Record) any { return r.DryRun }},
	{"batched", boolean, func(r *api.Record) any { return r.Batched }},
	{"activity", text, func(r *api.Record) any { return r.Activity }},
	{"purpose", text, func(r *api.Record) any { return string(r.Purpose) }},
	{"target_call_id", text, func(r *api.Record) any { return r.TargetCallID }},
	{"parent", text, func(r *api.Record) any { return r.Parent }},
	{"error", text, func(r *api.Record) any {
		return errorPart(r, func(e *api.Error) string { return string(e.Type) })
	}},
	{"error_message", text, func(r *api.Record) any {
		return errorPart(r, func(e *api.Error) string { return e.Message })
	}},
	{"error_detail", document, func(r *api.Record) any { return r.Error }},
	{"last_failure", text, func(r *api.Record) any { return r.LastFailure }},
	{"lane", text, func(r *api.Record) any { return r.Lane }},
	{"priority", text, func(r *api.Record) any { return string(r.Priority) }},
	{"attempts", integer, func(r *api.Record) any { return r.Attempts }},
	{"worker", text, func(r *api.Record) any { return r.Worker }},
	{"scheduled", timestamp, func(r *api.Record) any { return r.Scheduled }},
	{"started", timestamp, func(r *api.Record) any { return r.Started }},
	{"closed", timestamp, func(r *api.Record) any { return r.Closed }},
	{"queue_wait_ms", number, func(r *api.Record) any { return milliseconds(r.QueueWait) }},
	{"duration_ms", number, func(r *api.Record) any { return milliseconds(r.Duration) }},
	{"phases", document, func(r *api.Record) any { return r.Phases }},
	{"argument_tokens", integer, func(r *api.Record) any { return r.ArgumentTokens() }},
	{"expected_tokens", integer, func(r *api.Record) any { return r.ExpectedTokens }},
	{"result_tokens", integer, func(r *api.Record) any { return r.ResultTokens }},
	{"actual_tokens", integer, func(r *api.Record) any { return r.ActualTokens }},
	{"caller_type", text, func(r *api.Record) any { return string(r.Caller.Type) }},
	{"caller", text, func(r *api.Record) any { return r.Caller.ID }},
	{"caller_auth", text, func(r *api.Record) any { return string(r.Caller.Auth) }},
	{"caller_claims", document, func(r *api.Record) any { return r.Caller.Claims }},
	{"conversation", text, func(r *api.Record) any { return r.Conversation }},
	{"trace", text, func(r *api.Record) any { return r.Trace }},
	{"mcp", document, func(r *api.Record) any { return r.MCP }},
	{"arguments", document, func(r *api.Record) any { return r.Arguments }},
	{"result", document, func(r *api.Record) any { return r.Result }},
	{"notes", document, func(r *api.Record) any { return r.Notes }},
	{"hooks", document, func(r *api.Record) any { return r.Hooks }},
	{"policies", document, func(r *api.Record) any { return r.Policies }},
	{"labels", document, func(r *api.Record) any { return r.Labels }},
	{"sources", document, func(r *api.Record) any { return r.Sources }},
	{"plan", document, func(r *api.Record) any { return r.Plan }},
	{"approval", document, func(r *api.Record) any { return r.Approval }},
	{"child", document, func(r *api.Record) any { return r.Child }},
	{"usage", document, func(r *api.Record) any {
		if r.Usage == (api.Usage{}) {
			return nil
		}
		return r.Usage
	}},
	{"evaluation", text, func(r *api.Record) any {
		return evaluationPart(r, func(e *api.EvaluatedResult) string { return e.Evaluation })
	}},
	{"evaluated_by", text, func(r *api.Record) any {
		return evaluationPart(r, func(e *api.EvaluatedResult) string { return e.EvaluatedBy })
	}},
	{"evaluation_detail", document, func(r *api.Record) any { return r.Evaluation }},
}

func errorPart(r *api.Record, part func(*api.Error) string) string {
	if r.Error == nil {
		return ""
	}
	return part(r.Error)
}

func evaluationPart(r *api.Record, part func(*api.EvaluatedResult) string) string {
	if r.Evaluation == nil {
		return ""
	}
	return part(r.Evaluation)
}

func milliseconds(d api.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// read returns the value of a column: a string, int, float64, bool, time.Time in UTC or, for a
// document, json.RawMessage. It is nil where the record has none.
func (c column) read(r *api.Record) (any, error) {
	v := c.value(r)
	switch c.of {
	case text:
		if v == "" {
			return nil, nil
		}
	case timestamp:
		t, _ := v.(time.Time)
		if t.IsZero() {
			return nil, nil
		}
		return t.UTC(), nil
	case document:
		data, err := jsonvalue.Encode(v)
		if err != nil || string(data) == "null" {
			return nil, err
		}
		return json.RawMessage(data), nil
	}
	return v, nil
}
