package html_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	text "html"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/html"
)

// entry is a row of a page: its entry of the list, and its bars.
type entry struct {
	kind, label, note string
	details           map[string]string
	bars              []string
}

var (
	entryPattern = regexp.MustCompile(`(?s)<details class="([^"]*)"><summary><small>[^<]*</small> ` +
		`<b>(.*?)</b> <span>(.*?)</span>.*?<dl id="row-(\d+)">(.*?)</dl></details>`)
	detailPattern = regexp.MustCompile(`(?s)<dt>(.*?)</dt><dd>(.*?)</dd>`)
	rowPattern    = regexp.MustCompile(`(?s)<g data-row="(\d+)"[^>]*>(.*?)</g>`)
	barPattern    = regexp.MustCompile(`<rect class="(\w+)"[^>]*><title>[^<]*, &#43;(.*?) to ` +
		`&#43;(.*?)</title>`)
)

// entries returns the rows of a page.
func entries(page string) (list []entry) {
	bars := map[string][]string{}
	for _, row := range rowPattern.FindAllStringSubmatch(page, -1) {
		for _, b := range barPattern.FindAllStringSubmatch(row[2], -1) {
			bars[row[1]] = append(bars[row[1]], b[1]+" "+b[2]+" to "+b[3])
		}
	}
	for _, e := range entryPattern.FindAllStringSubmatch(page, -1) {
		details := map[string]string{}
		for _, d := range detailPattern.FindAllStringSubmatch(e[5], -1) {
			details[text.UnescapeString(d[1])] = text.UnescapeString(d[2])
		}
		list = append(list, entry{e[1], text.UnescapeString(e[2]), text.UnescapeString(e[3]),
			details, bars[e[4]]})
	}
	return list
}

// ofKind returns the rows of a kind.
func ofKind(list []entry, kind string) []entry {
	return slices.DeleteFunc(slices.Clone(list), func(e entry) bool {
		return !strings.HasPrefix(e.kind, kind)
	})
}

// A page has a bar and an entry of the list for every call of a recorded run, and a text about the
// run.
func TestTimeline_HasAllCalls(t *testing.T) {
	for _, tt := range []struct {
		name         string
		parts, calls int
		words        []string
	}{
		{"agent", 1, 10, []string{"agent tester", "answered",
			"10 calls: 3 completed, 3 failed, 4 refused; 3 retries.",
			"3 model steps: 556 tokens in, 33 out."}},
		{"people", 2, 6, []string{"6 calls: 3 completed, 3 failed.", "It has 2 executions."}},
		{"people", 1, 5, []string{">running<", "had run for"}},
		{"plan_failed", 1, 4, []string{"plan "}},
		{"direct_refused", 1, 1, []string{"direct call of", "1 call: 1 refused."}},
		{"terminated", 1, 2, []string{"terminated"}},
		{"model_failed", 1, 1, []string{"failed", "model_"}},
	} {
		timeline := recorded(t, tt.parts, tt.name)
		page := written(t, timeline)
		calls := ofKind(entries(page), "call")
		for _, c := range calls {
			if len(c.bars) == 0 {
				t.Errorf("%s: %s has no bar", tt.name, c.label)
			}
		}
		if len(calls) != tt.calls {
			t.Errorf("%s: %d calls, want %d", tt.name, len(calls), tt.calls)
		}
		for _, w := range tt.words {
			if !strings.Contains(page, w) {
				t.Errorf("%s: the page does not say %q", tt.name, w)
			}
		}
	}
}

// A page shows the evaluation with its author, what an open run waits for, and that a beginning is
// missing. A page without a run is an error.
func TestTimeline_ShowsTheStatusOfTheRun(t *testing.T) {
	evaluated := recorded(t, 1, "agent")
	evaluated.Person, evaluated.Incomplete = &api.RunEvaluation{
		By:     "ada",
		Reason: "the wrong document",
	}, true
	waiting := recorded(t, 1, "people")
	waiting.Awaited = []audit.Awaited{audit.AwaitsApproval, audit.AwaitsAnswer}
	for _, tt := range []struct {
		timeline *html.Timeline
		words    []string
	}{
		{evaluated, []string{"failed, evaluated by ada: the wrong document", "This page is incomplete: "}},
		{recorded(t, 1, "agent"), []string{"solved (from its outcome)"}},
		{waiting, []string{"waits for approval and an answer"}},
	} {
		page := written(t, tt.timeline)
		for _, w := range tt.words {
			if !strings.Contains(page, w) {
				t.Errorf("the page does not say %q", w)
			}
		}
	}
	if err := (&html.Timeline{}).Write(io.Discard); err == nil {
		t.Error("a page of no run was written")
	}
}

// The parts of a call's bar are the waits for earlier calls, a person, a worker and earlier
// attempts, and the run time. A running call reaches to now.
func TestSpans_SeparateWaitingFromRunning(t *testing.T) {
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
	timing := func(scheduled, started, closed, duration int) api.Timing {
		timing := api.Timing{
			Lane:      "general",
			Scheduled: at(scheduled),
			Attempts:  1,
			Started:   at(started),
			QueueWait: api.Duration(at(started).Sub(at(scheduled))),
		}
		if closed > 0 {
			timing.Closed, timing.Duration = at(closed), api.Duration(
				time.Duration(duration)*time.Millisecond)
		}
		return timing
	}
	retried := timing(20, 60, 100, 40)
	retried.Attempts, retried.QueueWait, retried.LastFailure = 3, 0, "reset"
	requeued := timing(20, 60, 100, 40)
	requeued.Attempts = 2
	for _, tt := range []struct {
		name   string
		record api.Record
		want   []string
	}{
		{"it waits, then it runs", api.Record{Timing: timing(10, 30, 100, 70)},
			[]string{"queue 10 ms to 30 ms", "runs 30 ms to 100 ms"}},
		{"the run holds it back", api.Record{Timing: timing(25, 30, 100, 70)},
			[]string{"held 10 ms to 25 ms", "queue 25 ms to 30 ms", "runs 30 ms to 100 ms"}},
		{"the lane's holder lets it wait", api.Record{Timing: timing(10, 30, 100, 20)},
			[]string{"queue 10 ms to 30 ms", "queue 30 ms to 80 ms", "runs 80 ms to 100 ms"}},
		{"a person approves it", api.Record{Timing: timing(55, 60, 100, 40),
			Approval: &api.Decided{Asked: at(12), At: at(50), Decision: api.DecisionApprove,
				By: "ada"}},
			[]string{"held 10 ms to 12 ms", "person 12 ms to 50 ms", "held 50 ms to 55 ms",
				"queue 55 ms to 60 ms", "runs 60 ms to 100 ms"}},
		{"earlier attempts failed", api.Record{Timing: retried},
			[]string{"held 10 ms to 20 ms", "tried 20 ms to 60 ms", "runs 60 ms to 100 ms"}},
		{"a worker handed it back unbegun", api.Record{Timing: requeued},
			[]string{"held 10 ms to 20 ms", "queue 20 ms to 60 ms", "runs 60 ms to 100 ms"}},
		{"it runs", api.Record{Status: api.CallRunning, Timing: timing(10, 30, 0, 0)},
			[]string{"queue 10 ms to 30 ms", "runs 30 ms to 1 s"}},
		{"it waits for a worker", api.Record{Status: api.CallRunning,
			Timing: api.Timing{Lane: "http", Scheduled: at(10)}}, []string{"queue 10 ms to 1 s"}},
		{"it waits for a person", api.Record{Status: api.CallRunning,
			Approval: &api.Decided{Asked: at(10)}}, []string{"person 10 ms to 1 s"}},
	} {
		b := html.NewRun()
		b.Add(api.Event{Type: api.EventStepCompleted, Turn: 1, Time: at(10)})
		tt.record.CallID, tt.record.Tool, tt.record.Turn = "1.1", "look", 1
		var running []api.Record
		if tt.record.Status == api.CallRunning {
			running = append(running, tt.record)
		} else {
			tt.record.Status = api.CallCompleted
			b.Add(api.Event{Type: api.EventToolCompleted, Time: at(105), Record: &tt.record})
		}
		timeline := &html.Timeline{Now: at(1000)}
		timeline.AddRun(
			b,
			history.Summary{
				WorkflowID: "run",
				Kind:       history.RunAgent,
				Name:       "agent",
				Status:     history.RunRunning,
				Started:    noon,
			},
			running,
			nil,
		)
		got := ofKind(entries(written(t, timeline)), "call")[0].bars
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Questions, approvals, pauses, messages and hooks are on the page with their authors. Unfinished
// ones are open.
func TestMarks_ShowEventsWithTheirAuthors(t *testing.T) {
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	b := html.NewRun()
	for i, e := range []api.Event{
		{Type: api.EventApprovalRequested, CallID: "1.1", Tool: "pay",
			Approval: &api.Approval{ApprovalNeed: api.ApprovalNeed{Reason: "it is money"},
				Call: "1.1", Tool: "pay"}},
		{Type: api.EventApprovalRefused, CallID: "1.1", Decided: &api.Decided{By: "bob"},
			Failure: "of another call"},
		{Type: api.EventApprovalRequested, CallID: "1.1", Tool: "pay",
			Approval: &api.Approval{}},
		{Type: api.EventApprovalDecided, CallID: "1.1", Tool: "pay",
			Decided: &api.Decided{Decision: api.DecisionDeny, By: "ada", Reason: "too much"}},
		{Type: api.EventQuestionAsked, CallID: "1.2", Tool: "ask",
			Question: &api.Question{ID: "1.2", Text: "which?"}},
		{Type: api.EventRunPaused, Pause: &api.Pause{By: "eve", Reason: "lunch"}},
		{Type: api.EventRunResumed, Pause: &api.Pause{By: "eve"}},
		{Type: api.EventMessageSent, Sent: &api.Sent{By: "ada", Text: "hurry"}},
		{Type: api.EventHookEnded, Hook: &api.HookAction{Hook: "greet", Outcome: "ran"}},
		{Type: api.EventApprovalRequested, CallID: api.LimitCall,
			Approval: &api.Approval{ApprovalNeed: api.ApprovalNeed{Limit: "turns"}}},
		{Type: api.EventRunFailed, Failure: "no more"},
	} {
		e.Time = at(i)
		b.Add(e)
	}
	timeline := &html.Timeline{Now: at(60)}
	pending := []audit.Running{
		{Kind: audit.KindStep, ID: "turn-2", State: audit.StateRunning, Since: at(30)},
		{Kind: audit.KindRun},
		{Kind: audit.KindStep, ID: "turn-3", State: audit.StateBackingOff, Since: at(31)},
	}
	timeline.AddRun(
		b,
		history.Summary{
			WorkflowID: "run",
			Kind:       history.RunAgent,
			Name:       "agent",
			Status:     history.RunPaused,
			Started:    noon,
			Parent:     &api.Parent{WorkflowID: "top", Call: "3.1"},
			DryRun:     true,
		},
		nil,
		pending,
	)
	page := written(t, timeline)
	list := entries(page)
	var got []string
	for _, e := range list {
		got = append(got, strings.TrimSpace(e.kind+" "+e.label+" "+e.note))
	}
	want := []string{
		"event approval of pay: denied by ada: too much 3.00 s",
		"event bad rejected decision",
		"event question of ask waits for an answer, 56.0 s so far",
		"event paused: resumed by eve 1.00 s",
		"event message from ada",
		"event hook greet",
		"event higher limit of turns waits for approval, 51.0 s so far",
		"event bad the run failed",
		"step turn 2 model step, 30.0 s so far",
		"step turn 3 earlier attempts, 29.0 s so far",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if why := list[0].details["reason"]; why != "it is money" {
		t.Errorf("the approval was asked for because %q", why)
	}
	for _, w := range []string{"paused", "It is the sub-agent of call 3.1 of top; it was a dry run"} {
		if !strings.Contains(page, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
}

// Long texts are cut.
func TestDetails_SayWhatWasCalledAndWhatCameOfIt(t *testing.T) {
	b := html.NewRun()
	r := api.Record{
		CallID:    "1.1",
		Tool:      "pay",
		Version:   "1.2.0",
		Status:    api.CallFailed,
		Phase:     api.PhaseExecution,
		Turn:      1,
		Arguments: json.RawMessage(`{"n":12345678901234567890,"password":"***"}`),
		Error: &api.Error{
			Type:     api.ErrValidation,
			Message:  strings.Repeat("é", 3000),
			Near:     []string{"play"},
			Problems: []api.Problem{{Path: "/n", Message: "too large"}},
		},
		Timing: api.Timing{
			Lane:        "bank",
			Attempts:    2,
			Worker:      "w1",
			LastFailure: "reset",
			Scheduled:   noon,
			Started:     noon.Add(time.Second),
			Closed:      noon.Add(2 * time.Second),
			QueueWait:   api.Duration(time.Second),
			Duration:    api.Duration(time.Second),
		},
		Policies: []api.PolicyAction{
			{Rule: "no-money", Effect: "deny", Message: "never"},
		},
		Notes:           []string{"twice"},
		EstimatedTokens: 1200,
		ResultTokens:    7,
		Approval: &api.Decided{
			Asked:    noon,
			At:       noon,
			Decision: api.DecisionApprove,
			By:       "ada",
			Why:      "money",
		},
		Usage: api.Usage{InputTokens: 5},
		Child: &api.ChildRun{
			WorkflowID: "run/1.1",
		},
		Caller:     api.Caller{Type: api.CallerAgent, ID: "a"},
		WorkflowID: "run",
	}
	b.Add(api.Event{Type: api.EventToolFailed, Time: noon.Add(2 * time.Second), Record: &r})
	timeline := &html.Timeline{Now: noon}
	timeline.AddRun(
		b,
		history.Summary{
			WorkflowID:  "run",
			Kind:        history.RunAgent,
			Name:        "a",
			Started:     noon,
			Closed:      noon.Add(3 * time.Second),
			Status:      history.RunFailed,
			Failure:     "broke",
			FailureType: "run_failed",
			SubAgents:   []history.SubAgent{{CallID: "1.1"}},
		},
		nil,
		nil,
	)
	page := written(t, timeline)
	call := entries(page)[0]
	for name, want := range map[string]string{"status": "failed (phase execution)",
		"arguments": "{\n  \"n\": 12345678901234567890,\n  \"password\": \"***\"\n}",
		"took":      "1.00 s", "waited for a worker": "1.00 s", "attempts": "2",
		"previous attempt": "reset", "lane": "bank",
		"tokens": "1,200 for the arguments, 7 for the result, 5 used by the sub-agent",
		"rules":  "no-money deny: never", "notes": "twice", "sub-agent's run": "run/1.1",
		"tool":    "pay 1.2.0",
		"started": "2026-01-31 12:00:01.000 UTC"} {
		if got := call.details[name]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if long := call.details["error"]; len(long) > 4200 ||
		!strings.Contains(long, "bytes are left out") {
		t.Errorf("a long error has %d bytes: %.50q", len(long), long)
	}
	if approval := call.details["approval"]; !strings.Contains(approval, "approved by ada") ||
		!strings.Contains(approval, "reason: money") {
		t.Errorf("the approval says %q", approval)
	}
	for _, w := range []string{"run_failed: broke",
		"1 sub-agent ran (shown with starter timeline --tree)."} {
		if !strings.Contains(page, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
}

// Calls and steps of sub-agents have their paths.
func TestTimeline_ShowsTreesOfRuns(t *testing.T) {
	page := written(t, recorded(t, 1, "sub_agents", "sub_agents_1.1", "sub_agents_1.1_1.1"))
	var labels []string
	for _, e := range entries(page) {
		labels = append(labels, e.label)
	}
	for _, want := range []string{"1.1/1.1/1.1 echo", "1.1/1.2 echo", "1.1/1.1 turn 1"} {
		if !slices.Contains(labels, want) {
			t.Errorf("there is no %q in %q", want, labels)
		}
	}
	if len(ofKind(entries(page), "call")) != 9 || !strings.Contains(page, "<td>1.1/1.1</td>") {
		t.Errorf("not all runs are on the page: %q", labels)
	}
}

// A chart of thousands of calls has the longest rows. Texts stay on it.
func TestChart_IsBounded(t *testing.T) {
	page := written(t, made(5000, "helper"))
	if rows := strings.Count(page, "<g data-row"); rows != 300 {
		t.Errorf("%d rows are drawn", rows)
	}
	if !strings.Contains(page, "The chart has the 300 longest of 5,501 rows.") {
		t.Error("the page does not say what is drawn")
	}
	if calls := len(ofKind(entries(page), "call")); calls != 5000 {
		t.Errorf("the list has %d calls", calls)
	}
	notes := regexp.MustCompile(`<text class="note" x="(\d+)" [^>]*?(text-anchor="end")?>([^<]*)<`).
		FindAllStringSubmatch(page, -1)
	for _, n := range notes {
		x, _ := strconv.Atoi(n[1])
		width := 7 * len(n[3])
		if n[2] == "" && x+width > 1200 || n[2] != "" && (x > 1200 || x < width) {
			t.Errorf("%q is at %d", n[3], x)
		}
	}
	if len(notes) != 300 {
		t.Errorf("%d notes", len(notes))
	}
}

// evil escapes from a page wherever it is inserted verbatim.
const evil = `</script><script>document.documentElement.dataset.fault='evil'</script><img src=x onerror="document.documentElement.dataset.fault='evil'"><!--` +
	"\u2028'\"`${1}\u202e"

// poisoned is a timeline all of whose texts are evil.
func poisoned() *html.Timeline {
	b := html.NewRun()
	arguments, _ := json.Marshal(map[string]string{evil: evil})
	r := api.Record{
		CallID:    evil,
		Tool:      evil,
		Status:    api.CallFailed,
		Turn:      1,
		Arguments: arguments,
		Error:     &api.Error{Type: api.ErrorType(evil), Message: evil},
		Notes:     []string{evil},
		Timing: api.Timing{
			Lane:        evil,
			Worker:      evil,
			LastFailure: evil,
			Attempts:    2,
			Scheduled:   noon,
			Started:     noon.Add(time.Second),
			Closed:      noon.Add(2 * time.Second),
		},
	}
	b.Add(api.Event{
		Type: api.EventStepCompleted,
		Time: noon,
		Turn: 1,
		Step: &api.ModelResponse{
			Message: api.Message{Text: evil},
			Model:   evil,
			Usage:   api.Usage{InputTokens: 3},
		},
	})
	b.Add(api.Event{Type: api.EventToolFailed, Time: noon.Add(2 * time.Second), Record: &r})
	b.Add(api.Event{Type: api.EventMessageSent, Time: noon, Sent: &api.Sent{By: evil, Text: evil}})
	timeline := &html.Timeline{Now: noon}
	timeline.AddRun(
		b,
		history.Summary{
			WorkflowID:   evil,
			Kind:         history.RunAgent,
			Name:         evil,
			Prompt:       evil,
			Status:       history.RunFailed,
			Failure:      evil,
			Conversation: "c" + evil,
			Started:      noon,
			Closed:       noon.Add(3 * time.Second),
			Result:       &api.RunResult{Answer: evil},
		},
		nil,
		nil,
	)
	return timeline
}

func TestTexts_AreNeverMarkup(t *testing.T) {
	page, clean := written(t, poisoned()), written(t, made(1, "helper"))
	for _, part := range []string{"<script", "</script", "<img", "<!--", "onerror=\""} {
		if got, want := strings.Count(page, part), strings.Count(clean, part); got != want {
			t.Errorf("%q stands %d times on the page, want %d", part, got, want)
		}
	}
	want := strings.NewReplacer("\u202e", "\uFFFD", "\u2028", "\uFFFD").Replace(evil)
	if got := ofKind(entries(page), "call")[0].label; got != want+" "+want {
		t.Errorf("the call is called %q", got)
	}
	if strings.ContainsAny(page, "\u202e\u2066\u200f") {
		t.Error("a text changes the direction of others")
	}
}

func TestPolicy_ForbidsForeignScripts(t *testing.T) {
	page := written(t, made(5, "helper"))
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).
		FindStringSubmatch(page)
	if policy == nil || !strings.HasPrefix(policy[1], "default-src &#39;none&#39;;") {
		t.Fatalf("the policy is %q", policy)
	}
	allowed := strings.ReplaceAll(policy[1], "&#43;", "+")
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	for _, s := range scripts {
		sum := sha256.Sum256([]byte(s[1]))
		if !strings.Contains(allowed, base64.StdEncoding.EncodeToString(sum[:])) {
			t.Errorf("the policy forbids the script that begins with %.60q", s[1])
		}
	}
	if len(scripts) != 1 ||
		regexp.MustCompile(`<(script|link|img|iframe)[^>]*\s(src|href)=`).MatchString(page) {
		t.Errorf("%d scripts are in the page, or it loads something", len(scripts))
	}
	if len(page) > 100<<10 {
		t.Errorf("a page with five calls has %d bytes", len(page))
	}
}
