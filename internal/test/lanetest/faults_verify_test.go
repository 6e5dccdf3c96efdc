package lanetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/test/witness"
	enumspb "go.temporal.io/api/enums/v1"
)

// counting are the tools whose argument is the number of their call, beside those on lanes.
var counting = []string{"charge", "charge_blind", "note", "pay", "put", "journal", "journal_once",
	"book", "rebook", "reserve", "rereserve"}

// faultTools are the tools of the calls, with equal shares.
var faultTools = append([]string{"general", "general_once", "one", "one_once", "two", "two_once",
	"phone", "phone_once", "charge", "journal", "clerk"}, counting...)

// nextCall returns a tool and arguments, which have a number that no other call has.
func (f *faultLab) nextCall() (name string, arguments json.RawMessage) {
	f.calls++
	name = faultTools[f.random.IntN(len(faultTools))]
	key, ms := fmt.Sprint("key-", f.random.IntN(5)), 1+f.random.IntN(300)
	switch {
	case name == "clerk":
		return name, json.RawMessage(`{"task":"Make two calls."}`)
	case slices.Contains(counting, name):
		return name, json.RawMessage(fmt.Sprintf(`{"n":%d}`, f.calls))
	}
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

// comparison compares records with what the ledgers and the witness saw.
type comparison struct {
	*faultLab
	executions map[string][]witness.Span
	written    map[int]int
	// accounts are the faults found, records counts the records of calls that the runs wanted.
	accounts []string
	records  int
	// ends counts these calls by their status, or the type of their error.
	ends map[string]int
	// cancelled says that the run whose records are compared was cancelled.
	cancelled bool
}

// verify compares every record with the ledgers, the lanes with their limits, and conversations
// with their runs.
func (f *faultLab) verify() {
	f.t.Helper()
	spans, _ := f.Spans()
	f.report(witness.Excesses(spans, limits(faultLimits)))
	var oneHolder []witness.Span
	for _, s := range spans {
		if faultLimits[witness.Name(s.Lane)] == 1 {
			oneHolder = append(oneHolder, s)
		}
	}
	f.report(witness.Regressions(oneHolder))
	written, err := writtenEffects(f.notes)
	if err != nil {
		f.t.Fatal(err)
	}
	v := &comparison{faultLab: f, executions: witness.Executions(spans), written: written,
		ends: map[string]int{}}
	for _, run := range f.runs {
		v.run(run)
	}
	v.conversations()
	f.report(v.accounts)
	fmt.Printf("%d records of %d calls:", v.records, f.calls)
	for _, end := range slices.Sorted(maps.Keys(v.ends)) {
		fmt.Printf(" %d %s,", v.ends[end], end)
	}
	fmt.Printf(" %d faults found\n", len(v.accounts))
}

// endOf returns how a call ended.
func endOf(r api.Record) string {
	if r.Status == api.CallFailed && r.Error != nil {
		return string(r.Error.Type)
	}
	return string(r.Status)
}

// run checks the end of a run, and the records of its calls and of its sub-agents'.
func (v *comparison) run(run *faultRun) {
	v.t.Helper()
	before := v.records
	status := v.status(run)
	v.cancelled = status == enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		v.accounts = append(v.accounts, fmt.Sprintf("the server ended %s: %s", run.id, status))
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		if run.agent { // failed calls do not fail the run of an agent
			err := v.Client.GetWorkflow(v.ctx, run.id, run.runID).Get(v.ctx, nil)
			v.accounts = append(v.accounts, fmt.Sprintf("the agent of %s failed: %v", run.id, err))
		}
	}
	seen := map[string]bool{}
	var journals []api.Record
	for r, err := range audit.Tree(v.ctx, v.Client, run.id, run.runID) {
		if err != nil {
			v.t.Fatalf("records of %s: %v", run.id, err)
		}
		if seen[r.Path] {
			v.account(r, "it has two records")
		}
		seen[r.Path] = true
		if r.Purpose == "" && !strings.Contains(r.Path, "/") {
			v.records++
			v.ends[endOf(r)]++
		}
		if why := v.wrong(r); why != "" {
			v.account(r, why)
		}
		if strings.HasPrefix(r.Tool, "journal") && r.Status == api.CallCompleted {
			journals = append(journals, r)
		}
	}
	v.journals(journals)
	if n := v.records - before; status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED &&
		n != run.calls {
		v.accounts = append(v.accounts,
			fmt.Sprintf("%s completed with %d records of %d calls", run.id, n, run.calls))
	}
}

func (v *comparison) account(r api.Record, why string) {
	v.accounts = append(v.accounts, fmt.Sprintf("%s/%s of %s, %s, %v: %s\n%s", r.WorkflowID,
		r.CallID, r.Tool, r.Status, r.Error, why,
		witness.List(v.executions[r.WorkflowID+"/"+r.CallID])))
}

// wrong returns what is wrong with a call's record, given its executions and effects; empty if
// nothing is.
func (v *comparison) wrong(r api.Record) string {
	var arguments struct{ N int }
	switch {
	case r.Status == api.CallRefused || r.Status == api.CallRunning:
		return "it was rejected or is open"
	case json.Unmarshal(r.Arguments, &arguments) != nil:
		return fmt.Sprintf("its arguments are %s", r.Arguments)
	}
	executions := v.executions[r.WorkflowID+"/"+r.CallID]
	if why := v.late(r, arguments.N, executions); why != "" {
		return why
	}
	if v.cancelled && endOf(r) == string(api.ErrWorkerLost) {
		return "" // a call of a cancelled run is not repeated
	}
	switch r.Tool {
	case "charge", "charge_blind", "pay", "reserve":
		return effectWrong(r, v.ledger.took(arguments.N))
	case "note", "book":
		return effectWrong(r, v.written[arguments.N])
	case "put", "rereserve":
		return unfinished(r, v.ledger.took(arguments.N))
	case "rebook":
		return unfinished(r, v.written[arguments.N])
	case "charged", "clerk":
		return ""
	}
	if strings.HasSuffix(r.Tool, "_once") {
		return effectWrong(r, len(executions))
	}
	return unfinished(r, done(executions))
}

// clockTolerance is how much later than its call's end an execution may begin, by the server's
// clock and this process's.
const clockTolerance = time.Second

// late says which execution of a call began after the call's recorded end. A request that waited at
// a suspended MCP server does not count, because it had left the worker.
func (v *comparison) late(r api.Record, n int, executions []witness.Span) string {
	begins := []time.Time{}
	for _, s := range executions {
		begins = append(begins, v.Witness.Began.Add(s.Began))
	}
	if slices.Contains(counting, r.Tool) {
		begins = append(begins, v.ledger.began(n)...)
	}
	atMCP := slices.Contains([]string{"book", "rebook", "reserve", "rereserve"}, r.Tool)
	for _, began := range begins {
		after := began.Sub(r.Closed)
		if r.Closed.IsZero() || after <= clockTolerance || atMCP && v.waited(began) {
			continue
		}
		return fmt.Sprintf("an execution began %s after its end", after)
	}
	return ""
}

// waited reports whether an MCP server was resumed shortly before.
func (v *comparison) waited(began time.Time) bool {
	return slices.ContainsFunc(v.resumed, func(at time.Time) bool {
		return began.Sub(at).Abs() < clockTolerance
	})
}

// effectWrong compares the record of a call that must not take effect twice with its effects.
func effectWrong(r api.Record, effects int) string {
	switch {
	case effects > 1:
		return fmt.Sprintf("it took effect %d times", effects)
	case r.Status == api.CallCompleted && effects == 0:
		return "it completed without effect"
	case r.Status == api.CallCompleted, r.Status == api.CallCancelled:
		return ""
	case r.Error != nil && (r.Error.Type == api.ErrOutcomeUnknown || r.Error.MayHaveActed()):
		return ""
	case effects > 0:
		return "it is reported as not done and took effect"
	}
	return ""
}

// unfinished rejects a completed call without effect, and a repeatable one that failed because its
// workers were lost. That may happen to an instance.
func unfinished(r api.Record, effects int) string {
	if endOf(r) == string(api.ErrWorkerLost) && r.Tool != "journal" {
		return "its workers were lost at every attempt"
	}
	if r.Status == api.CallCompleted && effects == 0 {
		return "it completed and no execution of it came to its end"
	}
	return ""
}

// done counts the executions that came to their end.
func done(executions []witness.Span) (n int) {
	for _, s := range executions {
		if s.Ending == witness.Done {
			n++
		}
	}
	return n
}

// journals checks the results of the stateful tools of a run: each has the numbers of all calls
// that completed before it was scheduled, and none twice.
func (v *comparison) journals(records []api.Record) {
	for _, r := range records {
		var numbers []int
		if err := json.Unmarshal(r.Result.Output, &numbers); err != nil {
			v.account(r, err.Error())
			continue
		}
		slices.Sort(numbers)
		if len(slices.Compact(slices.Clone(numbers))) < len(numbers) {
			v.account(r, fmt.Sprintf("a call took effect twice: %v", numbers))
		}
		for _, earlier := range records {
			var in numbered
			_ = json.Unmarshal(earlier.Arguments, &in) // wrong has checked them
			if earlier.Tool == r.Tool && earlier.Closed.Before(r.Scheduled) &&
				!slices.Contains(numbers, in.N) {
				v.account(r, fmt.Sprintf("the completed call %s is lost: %v", earlier.CallID,
					numbers))
			}
		}
	}
}

// conversations checks that the last run of each conversation has the prompts of all its runs, in
// order, except those that were cancelled before they had read the conversation.
func (v *comparison) conversations() {
	v.t.Helper()
	for i := range talks {
		id := fmt.Sprint("talk-", i)
		var want, got []string
		for _, run := range v.runs {
			if run.id != id || v.neverBegan(run) {
				continue
			}
			want, got = append(want, run.prompt), v.prompts(run)
		}
		if !slices.Equal(got, want) {
			v.accounts = append(v.accounts,
				fmt.Sprintf("%s has the prompts %q, want %q", id, got, want))
		}
	}
}

// neverBegan reports whether a run was cancelled before it had any messages.
func (v *comparison) neverBegan(run *faultRun) bool {
	v.t.Helper()
	return v.status(run) == enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED && len(v.prompts(run)) == 0
}

// prompts returns the messages of the user in the conversation of a run.
func (v *comparison) prompts(run *faultRun) (texts []string) {
	v.t.Helper()
	value, err := v.Client.QueryWorkflow(v.ctx, run.id, run.runID, api.ConversationQuery, 0)
	if err != nil {
		v.t.Fatalf("the conversation of %s: %v", run.id, err)
	}
	var page api.Page
	if err := value.Get(&page); err != nil {
		v.t.Fatal(err)
	}
	for _, m := range page.Messages.Value {
		if m.Role == api.RoleUser {
			texts = append(texts, m.Text)
		}
	}
	return texts
}
