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

// mixed returns a report of runs of some agents over some days, with calls of some tools.
func mixed(runs, tools int, name string) *html.Report {
	a := stats.NewAnalysis(stats.Thresholds{})
	r := &html.Report{Now: noon, Of: "--since 240h", Notes: []string{"3 more runs are listed"}}
	for n := range runs {
		s := history.Summary{
			WorkflowID: fmt.Sprint("run-", n),
			Kind:       history.RunAgent,
			Name:       fmt.Sprint(name, " ", n%4),
			Status:     history.RunCompleted,
			Started:    noon.Add(time.Duration(n*47%runs) * time.Hour),
			Closed:     noon.Add(time.Duration(runs) * time.Hour),
			Result: &api.RunResult{
				Outcome: api.OutcomeAnswered,
			},
			Usage: api.Usage{
				Turns:        3,
				Calls:        5,
				InputTokens:  4000 + n%7*900,
				OutputTokens: 300 + n%11*40,
				Cost:         0.02,
			},
		}
		switch {
		case n%9 == 3:
			s.Status = history.RunFailed
		case n%17 == 5:
			s.Status, s.Closed = history.RunRunning, time.Time{}
		}
		a.AddRun(s, nil)
		r.AddRun(s, audit.SolvedBy(s))
		for i := range 5 {
			k := (n*3 + i) % tools
			c := api.Record{
				Tool:            fmt.Sprintf("%s_tool_%d", name, k),
				Status:          api.CallCompleted,
				EstimatedTokens: 10 + k,
				ResultTokens:    200 + 31*k,
				Batched:         n%6 == 0,
				Timing: api.Timing{
					Lane:      []string{"general", "http", "printer"}[k%3],
					Attempts:  1 + n%10/9,
					Started:   noon,
					Duration:  api.Duration(time.Duration(40+k*k*17+n%50*20) * time.Millisecond),
					QueueWait: api.Duration(time.Duration(n%30) * time.Millisecond),
				},
			}
			switch {
			case (n+i)%19 == 0:
				c.Status, c.Error = api.CallFailed, api.Errorf(api.ErrTimeout, "late")
			case (n+i)%41 == 0:
				c.Status, c.Error, c.Timing = api.CallRefused, api.Errorf(
					api.ErrPolicyViolation,
					"no",
				), api.Timing{}
			}
			a.AddCall(c)
		}
	}
	r.Found = a.Report()
	return r
}

func reported(t *testing.T, r *html.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// cells returns the rows of the table of a chart, by its title, without spaces.
func cells(page, title string) string {
	_, rest, _ := strings.Cut(page, `<caption class="hidden">`+title+`</caption>`)
	table, _, _ := strings.Cut(rest, "</table>")
	return strings.Join(
		strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(table, " ")),
		" ",
	)
}

// The page has the runs by agent and over time, and the numbers of every chart as a table.
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
		r.AddRun(s, audit.SolvedBy(s))
	}
	a.AddCall(
		api.Record{
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
		},
	)
	a.AddCall(
		api.Record{
			Tool:   "pay",
			Status: api.CallRefused,
			Error:  api.Errorf(api.ErrPolicyViolation, "no"),
		},
	)
	a.AddCall(api.Record{Tool: "look", Status: api.CallCompleted, DryRun: true})
	r.Found = a.Report()
	page := reported(t, r)
	for title, want := range map[string]string{
		"Runs by agent, plan and tool":        "run of successful failed running success share agent a 1 1 1 50 % successful agent b 1 0 0 100 % successful",
		"Cost by agent":                       "run of cost agent a $1.50 agent b $0.5000",
		"Calls by tool":                       "tool completed failed refused cancelled running withheld completed pay 1 0 1 0 0 0 50 % look 0 0 0 0 0 1 –",
		"Tokens of tools and their estimates": "tool estimated actual accuracy pay 25 50 50 %",
		"Errors by type":                      "error calls policy_violation 1",
		"Duration of calls by lane":           "lane average longest bank 7.00 s 7.00 s no lane 0 s 0 s",
		"Slow calls and retries":              "tool slow retries pay 1 2 look 0 0",
	} {
		if got := cells(page, title); got != want {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
	if got := cells(page, "Tokens over time"); !strings.HasPrefix(
		got,
		"from (UTC) in out 01-31 12:00 1,000 10",
	) ||
		!strings.HasSuffix(got, "02-03 00:00 1,000 10") {
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

// The names of tools contain markup.
func TestReport_DrawsInABrowser(t *testing.T) {
	t.Parallel()
	page := reported(t, mixed(200, 40, evil))
	document, console := opened(t, page, "")
	root := regexp.MustCompile(`<html[^>]*>`).FindString(document)
	charts := strings.Count(page, `class="plot"`)
	if console != "" || strings.Contains(root, "data-fault") ||
		!strings.Contains(root, fmt.Sprintf(`data-drawn="%d"`, charts)) ||
		!strings.Contains(root, `data-ready="report"`) {
		t.Errorf("%s\n%s", root, console)
	}
	if svgs := strings.Count(document, "<svg"); svgs != charts || charts < 10 {
		t.Errorf("%d charts are drawn, want %d", svgs, charts)
	}
}
