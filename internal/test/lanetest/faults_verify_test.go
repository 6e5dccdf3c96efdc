package lanetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	enumspb "go.temporal.io/api/enums/v1"
)

// faultTools are the tools of the calls, with equal shares.
var faultTools = []string{"general", "general_once", "one", "one_once", "two", "two_once", "phone",
	"phone_once", "charge", "charge", "charge_blind", "note"}

// nextCall returns a tool and arguments, which have a number that no other call has.
func (f *faultLab) nextCall() (name string, arguments json.RawMessage) {
	f.calls++
	name = faultTools[f.random.IntN(len(faultTools))]
	key := fmt.Sprint("key-", f.random.IntN(5))
	if name == "charge" || name == "charge_blind" || name == "note" {
		return name, json.RawMessage(fmt.Sprintf(`{"n":%d}`, f.calls))
	}
	ms := 1 + f.random.IntN(300)
	return name, json.RawMessage(fmt.Sprintf(`{"n":%d,"ms":%d,"key":%q}`, f.calls, ms, key))
}

func (f *faultLab) planCalls(n int) (calls []api.PlanCall) {
	for i := range n {
		name, arguments := f.nextCall()
		calls = append(calls, api.PlanCall{ID: fmt.Sprint("c", i), Tool: name,
			Arguments: arguments})
	}
	return calls
}

// agent returns an agent that makes size calls in each of the turns.
func (f *faultLab) agent(turns, size int) *api.Agent {
	var steps []api.ScriptStep
	for range turns {
		var step api.ScriptStep
		for range size {
			name, arguments := f.nextCall()
			step.Calls = append(step.Calls, api.ScriptCall{Tool: name, Arguments: arguments})
		}
		steps = append(steps, step)
	}
	return agent(steps...)
}

// verify compares every record with the ledgers and the lanes with their limits.
func (f *faultLab) verify() {
	f.t.Helper()
	spans, _ := f.Spans()
	f.report(Excesses(spans, limits(faultLimits)))
	var oneHolder []Span
	for _, s := range spans {
		if faultLimits[Name(s.Lane)] == 1 {
			oneHolder = append(oneHolder, s)
		}
	}
	f.report(Regressions(oneHolder))
	executions, notes := Executions(spans), f.ledger.noted()
	var accounts []string
	recorded := 0
	for _, run := range f.runs {
		status := f.status(run.GetID())
		if why := badEnd(status); why != "" {
			accounts = append(accounts, run.GetID()+": "+why)
		}
		ids := map[string]bool{}
		for r, err := range audit.Records(f.ctx, f.Client, run.GetID(), "") {
			if err != nil {
				f.t.Fatalf("records of %s: %v", run.GetID(), err)
			}
			if ids[r.CallID] {
				accounts = append(accounts, run.GetID()+"/"+r.CallID+": it has two records")
			}
			ids[r.CallID] = true
			if r.Purpose == "" {
				recorded++
			}
			if why := f.wrong(r, executions[run.GetID()+"/"+r.CallID], notes); why != "" {
				accounts = append(accounts, fmt.Sprintf("%s/%s of %s, %s, %v: %s\n%s", run.GetID(),
					r.CallID, r.Tool, r.Status, r.Error, why,
					List(executions[run.GetID()+"/"+r.CallID])))
			}
		}
	}
	f.report(accounts)
	if f.t.Failed() {
		return
	}
	fmt.Printf("%d records of %d calls\n", recorded, f.calls)
}

// status returns the server's status of an ended run.
func (f *faultLab) status(id string) string {
	f.t.Helper()
	d, err := f.Client.DescribeWorkflowExecution(f.ctx, id, "")
	if err != nil {
		f.t.Fatal(err)
	}
	return d.GetWorkflowExecutionInfo().GetStatus().String()
}

// badEnd returns what is wrong with the end of a run: the server must never end one.
func badEnd(status string) string {
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED.String(),
		enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT.String():
		return "the server ended the run: " + status
	}
	return ""
}

// wrong returns what is wrong with a call's record, given its executions and effects; empty if
// nothing is.
func (f *faultLab) wrong(r api.Record, executions []Span, notes map[int]int) string {
	var arguments struct{ N int }
	if r.Status == api.CallRefused {
		return "it was rejected"
	}
	if err := json.Unmarshal(r.Arguments, &arguments); err != nil {
		return err.Error()
	}
	switch r.Tool {
	case "charge", "charge_blind":
		return effectWrong(r, f.ledger.charged(arguments.N))
	case "note":
		return effectWrong(r, notes[arguments.N])
	case "charged":
		return ""
	}
	if strings.HasSuffix(r.Tool, "_once") {
		return effectWrong(r, len(executions))
	}
	return unfinished(r, executions)
}

// effectWrong compares the record of a call that must not take effect twice with its effects.
func effectWrong(r api.Record, effects int) string {
	switch {
	case effects > 1:
		return fmt.Sprintf("it took effect %d times", effects)
	case r.Status == api.CallCompleted && effects == 0:
		return "it completed without effect"
	case r.Status == api.CallCompleted:
		return ""
	case r.Error != nil && r.Error.Type == api.ErrOutcomeUnknown:
		return ""
	case r.Status == api.CallCancelled:
		return ""
	case effects > 0:
		return "it is reported as not done and took effect"
	}
	return ""
}

// unfinished rejects a completed call without a finished execution.
func unfinished(r api.Record, executions []Span) string {
	done := 0
	for _, s := range executions {
		if s.Ending == Done {
			done++
		}
	}
	if r.Status == api.CallCompleted && done == 0 {
		return "it completed and no execution of it came to its end"
	}
	return ""
}
