package html_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/html"
	"github.com/switchyard/switchyard/audit/stats"
)

func reported(t *testing.T, r *html.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// cells returns the rows of a table, by its title, without spaces.
func cells(page, title string) string {
	_, rest, _ := strings.Cut(page, `<caption class="hidden">`+title+`</caption>`)
	table, _, _ := strings.Cut(rest, "</table>")
	return strings.Join(
		strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(table, " ")),
		" ",
	)
}

// The page has the runs by agent and over time, and the figures of calls.
func TestReport_HasTheFiguresOfTheAnalysis(t *testing.T) {
	a := stats.NewAnalysis(stats.Thresholds{Slow: api.Duration(time.Second)})
	r := &html.Report{Now: noon, Of: "--agent a"}
	for n, name := range []string{"a", "b", "a", "a"} {
		s := history.Summary{
			Kind:    history.RunAgent,
			Name:    name,
			Status:  history.RunCompleted,
			Started: noon.Add(time.Duration(n) * 20 * time.Hour),
			Closed:  noon.Add(99 * time.Hour),
			Result:  &api.RunResult{Outcome: api.OutcomeAnswered},
			Usage:   api.Usage{Turns: 1, InputTokens: 1000, OutputTokens: 10, Cost: 0.5},
		}
		if n == 3 {
			s.Closed = time.Time{}
		}
		if n == 2 {
			s.Status = history.RunFailed
		}
		a.AddRun(s, nil)
		decision, _ := audit.Evaluate(s, nil)
		r.AddRun(s, decision)
	}
	a.AddCall(api.Record{
		Tool:   "pay",
		Status: api.CallCompleted,
		Timing: api.Timing{
			Lane:      "bank",
			Attempts:  3,
			Started:   noon,
			Duration:  api.Duration(7 * time.Second),
			QueueWait: api.Duration(time.Second),
		},
		EstimatedTokens: 25,
		ExpectedTokens:  20,
		ResultTokens:    45,
		ActualTokens:    50,
	})
	a.AddCall(api.Record{
		Tool:   "pay",
		Status: api.CallRefused,
		Error:  api.Errorf(api.ErrPolicyViolation, "no"),
	})
	a.AddCall(api.Record{Tool: "look", Status: api.CallCompleted, DryRun: true})
	r.Found = a.Report()
	page := reported(t, r)
	for title, want := range map[string]string{
		"Runs by agent, plan and tool":        "run of successful failed running success share agent a 1 1 1 50 % agent b 1 0 0 100 %",
		"Cost by agent":                       "run of cost agent a $1.50 agent b $0.5000",
		"Calls by tool":                       "tool completed failed refused cancelled running withheld share of finished calls that completed pay 1 0 1 0 0 0 50 % look 0 0 0 0 0 1 –",
		"Tokens of tools and their estimates": "tool estimated actual accuracy pay 25 50 50 %",
		"Errors by type":                      "error calls policy_violation 1",
		"Duration of calls by lane":           "lane average longest bank 7.00 s 7.00 s no lane 0 s 0 s",
		"Slow calls and retries":              "tool slow retries pay 1 2 look 0 0",
	} {
		if got := cells(page, title); got != want {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
	if got := cells(page, "Runs over time"); !strings.HasPrefix(got,
		"from (UTC) successful failed running 01-31 12:00 1 0 0") ||
		!strings.HasSuffix(got, "02-03 00:00 0 0 1") {
		t.Errorf("over time: %q", got)
	}
	for _, want := range []string{"<b>4</b>runs<span>2 successful, 1 failed, 1 running",
		"<b>66.7 %</b>successful", "<b>2,020</b>tokens per successful run", "<b>$2.00</b>cost",
		"<b>50 %</b>of calls completed", "<b>1</b>violations", "Selected: --agent a.",
		"longer than 1.00 s", "1 completed, 0 failed, 1 refused, 1 withheld",
		"<b>25</b>wasted tokens", "<b>50 %</b>accuracy of estimates"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	timeless := &html.Report{Now: noon, Notes: []string{""}}
	timeless.AddRun(history.Summary{}, audit.SolvedOpen)
	if page := reported(t, timeless); strings.Contains(page, "They began") {
		t.Error("a run without a history has a beginning")
	}
	empty := reported(t, &html.Report{Now: noon})
	if !strings.Contains(empty, "There are no runs") ||
		!strings.Contains(empty, "<b>–</b>tokens per successful run") {
		t.Error("a report without runs has no note")
	}
}

// The periods cover all runs, and there are not too many of them.
func TestReport_DividesTimeByTheRuns(t *testing.T) {
	for _, apart := range []time.Duration{0, 20 * time.Millisecond, 3 * time.Second, time.Minute,
		7 * time.Minute, time.Hour, 30 * time.Hour, 900 * time.Hour} {
		r := &html.Report{Now: noon}
		for n := range 40 {
			r.AddRun(
				history.Summary{
					Kind:    history.RunPlan,
					Name:    "p",
					Started: noon.Add(time.Duration(n) * apart),
				},
				audit.SolvedYes,
			)
		}
		rows := regexp.MustCompile(`<th scope="row">[^<]*</th><td class="n">(\d+)</td>`).
			FindAllStringSubmatch(strings.SplitN(reported(t, r),
				`<caption class="hidden">Runs over time</caption>`, 2)[1], -1)
		sum := 0
		for _, row := range rows {
			n := 0
			fmt.Sscan(row[1], &n)
			sum += n
		}
		if sum != 40 || len(rows) > 60 {
			t.Errorf("%s apart: %d runs in %d parts", apart, sum, len(rows))
		}
	}
}
