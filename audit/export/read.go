package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/switchyard/switchyard/api"
)

// exportedRecord is the columns of a line of an export from which a record is read.
type exportedRecord struct {
	WorkflowID   string             `json:"workflow_id"`
	Run          string             `json:"run_id"`
	Path         string             `json:"path"`
	CallID       string             `json:"call_id"`
	Turn         int                `json:"turn"`
	Tool         string             `json:"tool"`
	Version      string             `json:"version"`
	Digest       string             `json:"digest"`
	Status       api.CallStatus     `json:"status"`
	Phase        api.Phase          `json:"phase"`
	DryRun       bool               `json:"dry_run"`
	Purpose      api.Purpose        `json:"purpose"`
	Parent       string             `json:"parent"`
	Error        *api.Error         `json:"error_detail"`
	Lane         string             `json:"lane"`
	Scheduled    time.Time          `json:"scheduled"`
	Started      time.Time          `json:"started"`
	Closed       time.Time          `json:"closed"`
	CallerType   api.CallerType     `json:"caller_type"`
	Caller       string             `json:"caller"`
	CallerAuth   api.AuthMethod     `json:"caller_auth"`
	CallerClaims map[string]any     `json:"caller_claims"`
	Conversation string             `json:"conversation"`
	Arguments    json.RawMessage    `json:"arguments"`
	Result       *api.Result        `json:"result"`
	Policies     []api.PolicyAction `json:"policies"`
	Labels       []string           `json:"labels"`
	Sources      []api.ValueSources `json:"sources"`
	Plan         *api.ExecutionPlan `json:"plan"`
	Approval     *api.Decided       `json:"approval"`
	Child        *api.ChildRun      `json:"child"`
}

func (e *exportedRecord) record() api.Record {
	r := api.Record{WorkflowID: e.WorkflowID, Run: e.Run, Path: e.Path, CallID: e.CallID,
		Turn: e.Turn, Tool: e.Tool, Version: e.Version, Digest: e.Digest, Status: e.Status,
		Phase: e.Phase, DryRun: e.DryRun, Purpose: e.Purpose, Parent: e.Parent, Error: e.Error,
		Conversation: e.Conversation, Result: e.Result, Policies: e.Policies, Labels: e.Labels,
		Sources: e.Sources,
		Plan:    e.Plan, Approval: e.Approval, Child: e.Child,
		Caller: api.Caller{Type: e.CallerType, ID: e.Caller, Auth: e.CallerAuth,
			Claims: e.CallerClaims},
		Timing: api.Timing{Lane: e.Lane, Scheduled: e.Scheduled, Started: e.Started,
			Closed: e.Closed}}
	if string(e.Arguments) != "null" {
		r.Arguments = e.Arguments
	}
	return r
}

// Read yields the records of an export in JSON Lines, in its order, with the parts that say what
// was called, by whom, and what came of it; usage, batches, hooks and evaluations are left out. It
// checks the chain of the lines as Verify does, and ends with its error, after the records before
// the fault.
func Read(r io.Reader) iter.Seq2[api.Record, error] {
	return func(yield func(api.Record, error) bool) {
		pipe, lines := io.Pipe()
		go func() {
			_, _, err := Verify(io.TeeReader(r, lines))
			_ = lines.CloseWithError(err)
		}()
		defer func() { _ = pipe.Close() }()
		for in := bufio.NewReader(pipe); ; {
			line, err := in.ReadBytes('\n')
			if err == io.EOF {
				return
			}
			var parsed struct {
				Record *exportedRecord `json:"record"`
			}
			if err == nil {
				err = json.Unmarshal(line, &parsed)
			}
			if err != nil {
				yield(api.Record{}, fmt.Errorf("read the export: %w", err))
				return
			}
			if parsed.Record != nil && !yield(parsed.Record.record(), nil) {
				return
			}
		}
	}
}
