package runstart

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
)

// exists returns the *ExistsError of a request whose ID the run runID has, or why it cannot be
// read.
func (n *Namespace) exists(ctx context.Context, r *Request, runID string) error {
	info, err := describe(ctx, n.Client, r.ID, runID)
	if err != nil {
		return err
	}
	first := info.GetFirstRunId()
	if first == "" {
		first = runID
	}
	e := &ExistsError{ID: r.ID, RunID: first}
	if info.GetType().GetName() != r.Workflow || info.GetTaskQueue() != r.Queue {
		return e
	}
	inputs, err := n.inputs(ctx, r.ID, first)
	if err != nil {
		return err
	}
	e.Equal = r.equal(inputs)
	return e
}

// inputs returns the arguments that an execution was started with.
func (n *Namespace) inputs(ctx context.Context, id, runID string) (*commonpb.Payloads, error) {
	page, err := n.Client.WorkflowService().GetWorkflowExecutionHistory(ctx,
		&workflowservice.GetWorkflowExecutionHistoryRequest{Namespace: n.Name, MaximumPageSize: 1,
			Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: runID}})
	if err != nil || len(page.GetHistory().GetEvents()) == 0 {
		return nil, err
	}
	return page.GetHistory().GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetInput(),
		nil
}

// equal reports whether the inputs of a run are those of the request. What differs between two
// starts of the same run does not count: the trace, the search attributes that the namespace has.
func (r *Request) equal(inputs *commonpb.Payloads) bool {
	var theirs json.RawMessage
	var earlier []byte
	c := converter.GetDefaultDataConverter()
	if inputs == nil || c.FromPayloads(inputs, &theirs, &earlier) != nil {
		return false
	}
	ours, err := json.Marshal(r.Input)
	if err != nil {
		return false
	}
	x, errX := comparableInput(ours)
	y, errY := comparableInput(theirs)
	return errX == nil && errY == nil && bytes.Equal(x, y) && sameMessages(r.Earlier, earlier)
}

// comparableInput returns an input without what may differ between two starts of the same run.
func comparableInput(input []byte) ([]byte, error) {
	type plain api.RunInput // without UnmarshalJSON, which rounds large integers
	var in plain
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber() // large integers keep every digit
	if err := d.Decode(&in); err != nil {
		return nil, err
	}
	in.Attributes, in.LastRun, in.Trace = nil, nil, ""
	if in.Plan != nil { // two builds may compress it differently
		plan, err := in.Plan.Plain()
		if err != nil {
			return nil, err
		}
		in.Plan = &plan
	}
	return json.Marshal(in)
}

// sameMessages compares encoded messages.
func sameMessages(x, y []byte) bool {
	if bytes.Equal(x, y) {
		return true
	}
	first, errX := codec.DecodeMessages(x)
	second, errY := codec.DecodeMessages(y)
	if errX != nil || errY != nil {
		return false
	}
	ours, errX := json.Marshal(first)
	theirs, errY := json.Marshal(second)
	return errX == nil && errY == nil && bytes.Equal(ours, theirs)
}

// openRun describes an open run for those who wait for it.
func openRun(id string, run *workflowpb.WorkflowExecutionInfo) OpenRun {
	open := OpenRun{WorkflowID: id}
	if run == nil {
		return open
	}
	fields := run.GetSearchAttributes().GetIndexedFields()
	open.WorkflowID, open.RunID = run.GetExecution().GetWorkflowId(), run.GetExecution().GetRunId()
	open.Agent, open.Caller = text(fields[api.AttributeAgent]), text(fields[api.AttributeCaller])
	open.Started = run.GetStartTime().AsTime()
	return open
}

// text decodes a keyword; empty if there is none.
func text(p *commonpb.Payload) (value string) {
	if p == nil || converter.GetDefaultDataConverter().FromPayload(p, &value) != nil {
		return ""
	}
	return value
}
