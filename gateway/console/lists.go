package console

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/toolspecs"
)

const (
	// runsPerPage is the number of runs of one page of the list, reportRuns that of a report.
	runsPerPage = 50
	reportRuns  = 100
)

// filter is what the list of runs was filtered by, as it was entered.
type filter struct {
	Agent, Caller, Tool, Conversation, Status, Query, Since string
	Statuses                                                []history.RunStatus
	// Fault says what is wrong with the filter.
	Fault string
}

func (p *page) filter() filter {
	v := p.r.URL.Query()
	return filter{Agent: v.Get("agent"), Caller: v.Get("caller"), Tool: v.Get("tool"),
		Conversation: v.Get("conversation"), Status: v.Get("status"), Query: v.Get("query"),
		Since: v.Get("since"), Statuses: []history.RunStatus{history.RunRunning,
			history.RunCompleted, history.RunFailed, history.RunCancelled, history.RunTerminated,
			history.RunTimedOut}}
}

// toQuery returns the query of the filter.
func (f *filter) toQuery(now time.Time) switchyard.RunQuery {
	q := switchyard.RunQuery{Query: f.Query, Conversation: f.Conversation, Agent: f.Agent,
		Caller: f.Caller, Tool: f.Tool, Status: history.RunStatus(f.Status)}
	if display.HasHidden(f.Query+f.Conversation+f.Agent+f.Caller+f.Tool, "") {
		f.Fault = "The filter contains a hidden character. Enter the filter again."
	}
	var ok bool
	if q.Since, ok = pointInTime(f.Since, now); f.Since != "" && !ok {
		f.Fault = "Enter since as 2026-01-31, 2026-01-31T08:00:00Z or 24h for a day ago."
	}
	return q
}

// pointInTime parses a date, a date with a time, or an age.
func pointInTime(text string, now time.Time) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return t, true
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, false
	}
	return now.Add(-d), true
}

// runsBody is the content of the list of runs.
type runsBody struct {
	Filter filter
	Runs   []switchyard.ListedRun
	// Next is the address of the next page; empty for none.
	Next string
	// First is the address of the first page, if this is another.
	First string
}

func (c *Console) showRuns(p *page) error {
	body := runsBody{Filter: p.filter()}
	query := body.Filter.toQuery(time.Now())
	values := p.r.URL.Query()
	token, err := base64.RawURLEncoding.DecodeString(values.Get("page"))
	if err != nil {
		body.Filter.Fault = "The address of the page is not complete: search again."
	}
	var next []byte
	if body.Filter.Fault == "" {
		body.Runs, next, err = c.backend.list(p.r.Context(), query, runsPerPage, token)
	}
	if len(next) > 0 {
		values.Set("page", base64.RawURLEncoding.EncodeToString(next))
		body.Next = "/console/runs?" + values.Encode()
	}
	if len(token) > 0 {
		values.Del("page")
		body.First = "/console/runs?" + values.Encode()
	}
	return p.showFiltered(&body.Filter, err, func() content {
		return content{Template: "runs", Title: "Runs", Section: "runs", Body: body}
	})
}

// showFiltered shows a page about runs, with the fault of its filter, or why the server refuses the
// query.
func (p *page) showFiltered(f *filter, err error, newContent func() content) error {
	refused := errors.Is(err, &switchyard.RequestError{Type: switchyard.RequestInvalid}) ||
		errors.Is(err, &switchyard.RequestError{Type: switchyard.ServerRefused})
	switch {
	case f.Fault != "":
	case refused:
		f.Fault = "The server refuses the query: " + display.Shorten(err.Error(), 300)
	case err != nil:
		return err
	}
	c := newContent()
	if f.Fault != "" {
		c.Status = http.StatusUnprocessableEntity
	}
	return p.show(c)
}

// reportBody is the content of the report.
type reportBody struct {
	Filter filter
	Report stats.Report
	Runs   int
	Missed int
	More   bool
}

func (c *Console) showReport(p *page) error {
	body := reportBody{Filter: p.filter()}
	query := body.Filter.toQuery(time.Now())
	var err error
	if body.Filter.Fault == "" {
		err = c.readReport(p.r.Context(), query, &body)
	}
	return p.showFiltered(&body.Filter, err, func() content {
		return content{Template: "report", Title: "Report", Section: "report", Body: body}
	})
}

// readReport reads the runs of a report. It waits for another report: each reads many histories.
func (c *Console) readReport(ctx context.Context, query switchyard.RunQuery,
	body *reportBody) error {
	select {
	case c.reporting <- struct{}{}:
		defer func() { <-c.reporting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	runs, next, err := c.backend.list(ctx, query, reportRuns, nil)
	if err != nil {
		return err
	}
	body.Runs, body.More = len(runs), len(next) > 0
	body.Report, body.Missed, err = c.backend.report(ctx, runs)
	return err
}

// laneLine is one row of the lanes.
type laneLine struct {
	lanestate.State
	// Limit is the limit in words; Average are the mean times of a call.
	Limit                     string
	AverageWait, AverageTime  time.Duration
	HoldersServed, HoldersAll int
}

func (c *Console) showLanes(p *page) error {
	states, err := c.backend.lanes(p.r.Context(), listLanes(c.config.Catalog()))
	if err != nil {
		return err
	}
	var lines []laneLine
	for _, s := range states {
		l := laneLine{State: s, Limit: "no limit", HoldersServed: s.ServedGroups(),
			HoldersAll: len(s.Holders)}
		if s.Lane.HasLimit() {
			l.Limit = describeLimit(s.Lane)
		}
		if n := s.Counts.Ended; n > 0 {
			l.AverageWait = time.Duration(s.Counts.WaitMicros/n) * time.Microsecond
			l.AverageTime = time.Duration(s.Counts.ExecutionMicros/n) * time.Microsecond
		}
		lines = append(lines, l)
	}
	return p.show(content{Template: "lanes", Title: "Lanes", Section: "lanes", Body: lines})
}

// listLanes returns the lanes of the tools of a catalog, by name.
func listLanes(c *toolspecs.Catalog) []api.Lane {
	seen := map[string]bool{}
	var lanes []api.Lane
	for _, t := range c.All() {
		if name := t.Tool().Lane; !seen[name] && name != api.LaneInline {
			seen[name] = true
			lanes = append(lanes, api.Lane{Name: name})
		}
	}
	return lanes
}

// toolsBody is the content of the page of tools.
type toolsBody struct {
	Tools []toolLine
	// Asks says that the console asks the workers for their tools.
	Asks bool
	workersView
}

// toolLine is one row of the tools.
type toolLine struct {
	api.Tool
	Description string
	Approval    bool
	// On are the versions that workers have.
	On []foundTool
}

func (c *Console) showTools(p *page) error {
	body := toolsBody{Asks: c.workers.ask != nil, workersView: c.workers.current(p.r.Context())}
	for _, t := range c.config.Catalog().All() {
		one := t.Tool()
		body.Tools = append(body.Tools, toolLine{Tool: one,
			Description: display.Shorten(t.Spec.Description, 200), Approval: t.Spec.Approval != nil,
			On: body.of(one.Name, one.Digest)})
	}
	return p.show(content{Template: "tools", Title: "Tools", Section: "tools", Body: body})
}

// describeLimit returns the limit of a lane in words.
func describeLimit(l api.Lane) string {
	text := display.Plural(l.Limit, "call") + " at once"
	if l.HasKey() {
		text += " for each key"
	}
	if l.Rate > 0 {
		text += fmt.Sprintf(", %g per second", l.Rate)
	}
	return text
}
