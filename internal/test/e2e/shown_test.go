package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// everything is an agent whose calls are retried, fail for good, are refused by their schema, as
// unknown tools and by a policy, are batched, approved, edited, denied, answered by a person, made
// by sub-agents, and interrupted.
func everything() *api.Agent {
	a := withTools(agent(
		step(named("a", call("work", `{"text":"a1"}`)), call("work", `{"text":"a2","fails":2}`),
			call("work", `{"text":"a3","fails":9}`), call("work", `{"text":"a4","broken":true}`)),
		step(call("work", `{"txet":"b1"}`), call("nothing", `{"text":"b2"}`),
			call("work", `{"text":"forbidden"}`), call("work_all", `{"texts":["b4","b5"]}`),
			call("work_all", `{"texts":["b6"]}`)),
		step(call("work_asked", `{"text":"c1"}`), call("work_asked", `{"text":"c2"}`),
			call("work_asked", `{"text":"c3"}`), call("clerk", `{"question":"May I?"}`)),
		step(call("work", `{"text":"d1","hold":true}`),
			call("work_once", `{"text":"d2","hold":true}`), call("foreman", `{"job":"it"}`)),
		step(call("work", `{"text":"e1"}`), call("work", `{"text":"e2","fails":1}`)),
		step(named("f", call("work", `{"text":"f1"}`))),
		answer("${a} to ${f}"),
	), "work work_once work_asked work_all clerk foreman")
	a.Policies = []api.PolicyRule{{Name: "house", When: "args.text == 'forbidden'",
		Then: api.PolicyDeny, Message: "not in this house", Tools: []string{"work"}}}
	return a
}

// unexecuted are the calls of everything that no tool may have executed, by their paths: "tool
// status error".
var unexecuted = map[string]string{
	"2.1": "work refused validation_error", "2.2": "nothing refused tool_not_found",
	"2.3": "work refused policy_violation",
	"3.2": "work_asked refused approval_denied", "3.4": "clerk completed",
	"4.3": "foreman completed", "4.3/1.2": "hand completed",
	"4.3/2.2": "work refused validation_error",
}

// action is the journal of one activity: its task, and how many executions of it started, completed
// and failed.
type action struct {
	tool, text            string
	started, done, failed int
}

// actions counts what the tools did, by run and call. It reads only the journal.
func (l *lab) actions() map[string]action {
	l.t.Helper()
	actions := map[string]action{}
	for _, e := range l.entries() {
		key := e.Run + " " + e.Call
		d, what := actions[key], ""
		what, d.text, _ = strings.Cut(e.Text, " ")
		d.tool = e.Tool
		switch what + " " {
		case wroteStarted:
			d.started++
		case wroteDone:
			d.done++
		case wroteFailed:
			d.failed++
		default:
			l.t.Fatalf("journal: %+v", e)
		}
		actions[key] = d
	}
	return actions
}

// fate describes the end of an activity in the journal.
func (d action) fate() string {
	status := api.CallFailed
	if d.done > 0 {
		status = api.CallCompleted
	}
	return fmt.Sprintf("%s of %s %s in %d attempts", d.text, d.tool, status, d.started)
}

// differences compares records with what the tools really did: each action needs records that cover
// it completely, one for each call, with its attempts and its end. All other records have to be
// those of unexecuted.
func differences(records []api.Record, actions map[string]action) (found []string) {
	recordsOfAction, others := map[string][]api.Record{}, map[string]int{}
	for _, r := range records {
		key := r.Run + " " + r.CallID
		if r.Activity != "" {
			key = r.Run + " " + r.Activity
		}
		if _, did := actions[key]; did {
			recordsOfAction[key] = append(recordsOfAction[key], r)
			continue
		}
		line := r.Tool + " " + string(r.Status)
		if r.Error != nil {
			line += " " + string(r.Error.Type)
		}
		if others[r.Path]++; unexecuted[r.Path] != line {
			found = append(found, fmt.Sprintf("nothing was done as %s, and its record says %s",
				r.Path, line))
		}
	}
	for path := range unexecuted {
		if others[path] != 1 {
			found = append(found, fmt.Sprintf("%s has %d records", path, others[path]))
		}
	}
	for key, d := range actions {
		for _, fate := range fates(recordsOfAction[key]) {
			if fate != d.fate() {
				found = append(found, fmt.Sprintf("the journal says %q, the records say %q",
					d.fate(), fate))
			}
		}
	}
	return found
}

// fates returns what the records of batched calls say about the batch, each text once. Their
// outputs are joined.
func fates(records []api.Record) (list []string) {
	var texts []string
	for _, r := range records {
		var in struct {
			Text  string
			Texts []string
		}
		if err := json.Unmarshal(r.Arguments, &in); err != nil {
			return []string{err.Error()}
		}
		texts = append(texts, append(in.Texts, in.Text)...)
	}
	text := strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "+")
	for _, r := range records {
		list = append(list, fmt.Sprintf("%s of %s %s in %d attempts", text, r.Tool, r.Status,
			r.Attempts))
	}
	if slices.Sort(list); len(list) == 0 {
		return []string{"nothing"}
	}
	return slices.Compact(list)
}

// The records of a run with everything, whose worker is killed during three calls and whose history
// continues in new ones, equal the journal that the tools write when they start and end: each
// executed call has one record with the right number of attempts, and no other record says that it
// was executed. The events of each run of the tree are numbered without gaps, the records contain
// who decided, starter prints the same ones, the totals of starter report are those of the journal,
// and starter show prints the rest when the run's first history is past its retention.
func TestRecords_EqualTheJournal(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=60",
		// Deleted histories disappear at once, and not after half a minute.
		"--dynamic-config-value", `history.transferProcessorUpdateAckInterval="100ms"`,
		"--dynamic-config-value", `history.visibilityProcessorUpdateAckInterval="100ms"`)
	first := l.workerIn(nil, "--tools", "testdata/shown/tools")
	run := l.startAgent("shown", api.RunInput{Agent: everything(), Prompt: "Go.",
		Conversation: "shown"})
	firstRun := run.GetRunID()
	l.decideShown()
	l.await("for three calls to hold", func() bool {
		n := l.executions()
		return n["4.1 work"] == 1 && n["4.2 work_once"] == 1 && n["2.1 work"] == 1
	})
	first.Kill()
	l.openGate()
	l.workerIn(nil, "--tools", "testdata/shown/tools")
	r := l.result(run)
	if r.Answer != "a1 to f1" {
		t.Errorf("result: %+v", r)
	}
	var records []api.Record
	for r, err := range audit.Tree(l.ctx, l.Client, "shown", "") {
		l.must(err)
		records = append(records, r)
	}
	actions := l.actions()
	if found := differences(records, actions); len(found) > 0 {
		t.Errorf("%s\nthe journal has %+v", strings.Join(found, "\n"), actions)
	}
	lost := 0
	for _, d := range actions {
		lost += d.started - d.done - d.failed
	}
	if lost != 3 || actions[firstRun+" 4.1"].started != 2 || actions[firstRun+" 4.2"].started != 1 {
		t.Errorf("%d executions were interrupted, want those of three calls; the journal has %+v",
			lost, actions)
	}
	checkTampering(t, records, actions)
	checkDecided(t, records)
	l.checkNumbers(run)
	l.checkPrinted(records)
	l.checkTotals(r.Usage, actions)
	l.replay("shown", firstRun)
	l.checkRest(firstRun, r.Usage)
}

// checkRest makes the server delete the run's first execution, and fails the test unless starter
// show prints the rest.
func (l *lab) checkRest(firstRun string, used api.Usage) {
	l.t.Helper()
	_, err := l.Client.WorkflowService().DeleteWorkflowExecution(l.ctx,
		&workflowservice.DeleteWorkflowExecutionRequest{Namespace: "default",
			WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "shown", RunId: firstRun}})
	l.must(err)
	l.await("for the first execution to be gone", func() bool {
		_, err := audit.Describe(l.ctx, l.Client, "shown", "")
		return errors.Is(err, audit.ErrIncomplete)
	})
	code, out := l.command("show", "shown", "--output", "json")
	var shown struct {
		Status     history.RunStatus
		Usage      api.Usage
		Incomplete bool
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || code != 0 || !shown.Incomplete ||
		shown.Usage != used || shown.Status != history.RunCompleted {
		l.t.Errorf("starter show: exit code %d, %v\n%s", code, err, out)
	}
	if code, out := l.command("show", "shown"); code != 0 || !strings.Contains(out,
		"the rest is shown") || !strings.Contains(out, "a1 to f1") {
		l.t.Errorf("starter show: exit code %d\n%s", code, out)
	}
}

// decideShown edits, denies and approves the waiting calls of everything, and answers its question.
func (l *lab) decideShown() {
	l.t.Helper()
	open := l.awaitApprovals("shown", 3)
	for _, d := range []api.Decision{
		{Call: "3.1", Kind: api.DecisionEdit, By: "ada", Reason: "better",
			Arguments: []byte(`{"text":"C1"}`)},
		{Call: "3.2", Kind: api.DecisionDeny, By: "bob", Reason: "no"},
		{Call: "3.3", Kind: api.DecisionApprove, By: "eve"},
	} {
		d.Digest = open[d.Call].Digest
		if refused := l.decide("shown", d); refused != "" {
			l.t.Fatalf("the decision about %s is refused: %s", d.Call, refused)
		}
	}
	l.awaitQuestions("shown", 1)
	if refused := l.reply("shown", value("3.4", "dan", `"yes"`)); refused != nil {
		l.t.Fatalf("the reply: %+v", refused)
	}
}

// checkTampering fails the test unless every altered record is found.
func checkTampering(t *testing.T, records []api.Record, actions map[string]action) {
	t.Helper()
	for i, r := range records {
		wrong := func(change func(r *api.Record)) []api.Record {
			list := slices.Clone(records)
			change(&list[i])
			return list
		}
		for name, list := range map[string][]api.Record{
			"is missing":     slices.Delete(slices.Clone(records), i, i+1),
			"is there twice": append(slices.Clone(records), r),
			"has another status": wrong(func(r *api.Record) {
				if r.Status = api.CallCompleted; records[i].Status == r.Status {
					r.Status = api.CallFailed
				}
			}),
			"is of another tool": wrong(func(r *api.Record) { r.Tool = "other" }),
			"is of another call": wrong(func(r *api.Record) {
				r.CallID, r.Activity, r.Path = "9.9",
					"", "9.9"
			}),
		} {
			if len(differences(list, actions)) == 0 {
				t.Errorf("the altered record of %s is not found: it %s", r.Path, name)
			}
		}
		more := wrong(func(r *api.Record) { r.Attempts++ })
		if _, nothing := unexecuted[r.Path]; !nothing && len(differences(more, actions)) == 0 {
			t.Errorf("the record of %s with an additional attempt is not found", r.Path)
		}
	}
}

// checkDecided fails the test unless the records contain who decided what, and no other decisions.
func checkDecided(t *testing.T, records []api.Record) {
	t.Helper()
	decided := map[string]string{}
	for _, r := range records {
		if a := r.Approval; a != nil {
			decided[r.Path] = strings.TrimSpace(fmt.Sprint(a.By, " ", a.Decision, " ", a.Reason))
		}
	}
	if want := map[string]string{"3.1": "ada edit better", "3.2": "bob deny no",
		"3.3": "eve approve"}; !maps.Equal(decided, want) {
		t.Errorf("decided: %v, want %v", decided, want)
	}
}

// checkNumbers fails the test unless the events of each run of the tree are numbered without gaps,
// and the top run continued as new between its first and its last call.
func (l *lab) checkNumbers(run client.WorkflowRun) {
	l.t.Helper()
	for _, id := range []string{run.GetID(), "shown/4.3", "shown/4.3/1.2"} {
		sequence, parts := 0, []string{}
		for e, err := range audit.Events(l.ctx, l.Client, id, "") {
			l.must(err)
			if sequence++; e.Sequence != sequence {
				l.t.Fatalf("event %d of %s has the number %d", sequence, id, e.Sequence)
			}
			if e.Record != nil {
				parts = append(parts, e.RunID)
			}
		}
		if id == run.GetID() && parts[0] == parts[len(parts)-1] {
			l.t.Errorf("%s did not continue as new between its first call and its last", id)
		}
	}
}

// checkPrinted fails the test unless starter prints these records.
func (l *lab) checkPrinted(records []api.Record) {
	l.t.Helper()
	var lines strings.Builder
	for _, r := range records {
		line, err := jsonvalue.Encode(r)
		l.must(err)
		lines.Write(append(line, '\n'))
	}
	if code, out := l.command("audit", "shown", "--tree", "--output", "json"); code != 0 ||
		out != lines.String() {
		l.t.Errorf("starter audit: exit code %d, printed\n%s\nwant\n%s", code, out, lines.String())
	}
}

// checkTotals fails the test unless the run's own count and the totals of starter report equal the
// journal plus the calls that no tool executed.
func (l *lab) checkTotals(used api.Usage, actions map[string]action) {
	l.t.Helper()
	var want stats.CallStats
	tools := map[string]int{}
	for _, d := range actions {
		calls := 1
		if d.tool == "work_all" {
			calls = 2 // which were batched
			want.Batched += calls
		}
		want.Calls += calls
		tools[d.tool] += calls
		want.Retries += d.started - 1
		if d.done > 0 {
			want.Completed += calls
		} else {
			want.Failed += calls
		}
	}
	for _, line := range unexecuted {
		tool, rest, _ := strings.Cut(line, " ")
		want.Calls++
		tools[tool]++
		if rest == "completed" {
			want.Completed++
		} else {
			want.Refused++
		}
	}
	code, out := l.command("report", "--output", "json")
	var report stats.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 {
		l.t.Fatalf("starter report: exit code %d, %v\n%s", code, err, out)
	}
	got := stats.CallStats{Calls: report.Calls.Calls, Completed: report.Calls.Completed,
		Failed: report.Calls.Failed, Refused: report.Calls.Refused,
		Batched: report.Calls.Batched, Retries: report.Calls.Retries}
	if got != want || report.Runs != (stats.RunCounts{All: 1, Successful: 1}) ||
		report.Violations != 1 {
		l.t.Errorf("starter report says %+v of %+v with %d violations, want %+v", got, report.Runs,
			report.Violations, want)
	}
	if used.Calls != want.Calls || used.Failed != want.Failed+want.Refused {
		l.t.Errorf("the run counts %+v, want %d calls of which %d failed", used, want.Calls,
			want.Failed+want.Refused)
	}
	byTool := map[string]int{}
	for _, g := range report.Tools {
		byTool[g.Name] = g.Calls
	}
	if !maps.Equal(byTool, tools) {
		l.t.Errorf("starter report counts %v by tool, want %v", byTool, tools)
	}
}
