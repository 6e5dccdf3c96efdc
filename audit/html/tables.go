package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/value/display"
)

// table has numbers, and a bar for each row. A new table is one function that returns one.
type table struct {
	Title string
	Note  string
	// Of names what the rows are: agents, tools, lanes, times.
	Of   string
	Unit unit
	// Apart draws the series one below the other. Otherwise they are stacked.
	Apart  bool
	Names  []string
	Series []series
	// Behind are the texts after the numbers; nil for none.
	Behind []string
	// BehindOf names those texts.
	BehindOf string
}

// series has one number for every row of a table. Tone is its colour in the style sheet.
type series struct {
	Name   string
	Tone   string
	Values []float64
}

// unit is what numbers count.
type unit string

const (
	unitCount   unit = "count"
	unitTime    unit = "ms"
	unitMoney   unit = "usd"
	unitPercent unit = "percent"
)

// figure formats a number.
func figure(u unit, value float64) string {
	switch u {
	case unitTime:
		return shortDuration(time.Duration(value * float64(time.Millisecond)))
	case unitMoney:
		return money(value)
	case unitPercent:
		return fmt.Sprintf("%.4g %%", math.Round(value*10)/10)
	}
	return display.Thousands(int(value + .5))
}

type tableRow struct {
	Cells []string
	Bars  []tableBar
}

// tableBar is a part of a row's bar, which is 1000 wide and 12 high.
type tableBar struct {
	Tone                string
	X, Y, Width, Height int
}

// Rows returns the rows of the table.
func (c table) Rows() []tableRow {
	rows := make([]tableRow, len(c.Names))
	most := c.most()
	for i, name := range c.Names {
		row := tableRow{Cells: []string{name}}
		x := 0
		for n, s := range c.Series {
			row.Cells = append(row.Cells, figure(c.Unit, s.Values[i]))
			b := tableBar{Tone: s.Tone, X: x, Width: int(1000 * s.Values[i] / most), Height: 12}
			if c.Apart {
				b.Height = 12 / len(c.Series)
				b.X, b.Y = 0, n*b.Height
			}
			row.Bars = append(row.Bars, b)
			x += b.Width
		}
		if c.Behind != nil {
			row.Cells = append(row.Cells, c.Behind[i])
		}
		rows[i] = row
	}
	return rows
}

// most returns what the longest bar stands for.
func (c table) most() (most float64) {
	for i := range c.Names {
		sum := 0.0
		for _, s := range c.Series {
			if sum += s.Values[i]; c.Apart {
				most = max(most, s.Values[i])
			}
		}
		if !c.Apart {
			most = max(most, sum)
		}
	}
	return most
}

// empty reports whether the table has nothing to show.
func (c table) empty() bool { return c.most() == 0 }

// item is a row of a table: an agent, a tool, a lane or a time.
type item = stats.AgentStats

// column is a series of a table.
type column struct {
	name, tone string
	value      func(item) float64
}

// count returns a series of numbers.
func count(name, tone string, value func(item) int) column {
	return column{name, tone, func(g item) float64 { return float64(value(g)) }}
}

// duration returns a series of times.
func duration(name, tone string, value func(item) api.Duration) column {
	return column{name, tone, func(g item) float64 {
		return float64(value(g)) / float64(time.Millisecond)
	}}
}

// newTable returns a table with a row for each item. behind returns the texts behind the numbers;
// nil for none.
func newTable(c table, items []item, behind func(item) string, columns ...column) table {
	for _, g := range items {
		c.Names = append(c.Names, cmp.Or(g.Name, "no "+c.Of))
		if behind != nil {
			c.Behind = append(c.Behind, behind(g))
		}
	}
	for _, of := range columns {
		s := series{Name: of.name, Tone: of.tone}
		for _, g := range items {
			s.Values = append(s.Values, of.value(g))
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// toItems returns tools or lanes as items.
func toItems(groups []stats.GroupStats) (items []item) {
	for _, g := range groups {
		items = append(items, item{Name: g.Name, CallStats: g.CallStats})
	}
	return items
}

// starters returns the agents, plans, tools and callers of which there are runs.
func (r *Report) starters() (items []item) {
	for _, kind := range []struct {
		name string
		all  []item
	}{{"agent", r.Found.Agents}, {"plan", r.Found.Plans}, {"call", r.Found.Direct},
		{"session", r.Found.Sessions}} {
		for _, s := range kind.all {
			if s.Runs.All > 0 { // else it has only been a sub-agent
				s.Name = kind.name + " " + s.Name
				items = append(items, s)
			}
		}
	}
	return items
}

// maxParts bounds the number of time intervals.
const maxParts = 32

// byTime counts the runs that began in each time interval. step is the length of an interval.
func (r *Report) byTime() (items []item, step time.Duration) {
	runs := r.dated()
	if len(runs) == 0 {
		return nil, 0
	}
	first, last := runs[0].began.UTC(), runs[len(runs)-1].began.UTC()
	step = max(chooseStep(last.Sub(first), maxParts), time.Second)
	layout := chooseLayout(step, first, last)
	first = first.Truncate(step)
	for at := first; !at.After(last); at = at.Add(step) {
		items = append(items, item{Name: at.Format(layout)})
	}
	for _, run := range runs {
		counts := &items[int(run.began.UTC().Sub(first)/step)].Runs
		switch run.decision {
		case audit.SolvedYes:
			counts.Successful++
		case audit.SolvedOpen:
			counts.Open++
		default:
			counts.Failed++
		}
	}
	return items, step
}

// chooseLayout returns the shortest time layout that tells the intervals apart.
func chooseLayout(step time.Duration, first, last time.Time) string {
	switch {
	case step >= 24*time.Hour:
		return time.DateOnly
	case step < time.Minute:
		return time.TimeOnly
	case first.YearDay() == last.YearDay() && first.Year() == last.Year():
		return "15:04"
	}
	return "01-02 15:04"
}

// every names the length of the intervals.
func every(step time.Duration) string {
	if step >= 24*time.Hour {
		return display.Plural(int(step/(24*time.Hour)), "day") + " each, in UTC"
	}
	return evenDuration(step) + " each, in UTC"
}

func (r *Report) runTables() []table {
	times, step := r.byTime()
	outcomes := []column{
		count("successful", "model", func(g item) int { return g.Runs.Successful }),
		count("failed", "failed", func(g item) int { return g.Runs.Failed }),
		count("running", "queue", func(g item) int { return g.Runs.Open }),
	}
	share := func(g item) string {
		return ratio(g.Runs.Successful, g.Runs.Successful+g.Runs.Failed)
	}
	return []table{
		newTable(table{Title: "Runs by agent, plan and tool", Of: "run of", Unit: unitCount,
			BehindOf: "success share"}, r.starters(), share, outcomes...),
		newTable(table{Title: "Runs over time", Note: "by start time, " + every(step),
			Of: "from (UTC)", Unit: unitCount}, times, nil, outcomes...),
	}
}

func (r *Report) tokenTables() []table {
	perRun := func(g item) string {
		if g.Runs.Successful == 0 {
			return "none successful"
		}
		return figure(unitCount, g.TokensPerSuccessfulRun)
	}
	estimated := slices.DeleteFunc(toItems(r.Found.Tools), func(g item) bool {
		return g.Estimated == 0
	})
	return []table{
		newTable(table{Title: "Tokens by agent", Of: "run of", Unit: unitCount,
			BehindOf: "per successful run"}, r.starters(), perRun,
			count("in", "in", func(g item) int { return g.Usage.InputTokens }),
			count("out", "out", func(g item) int { return g.Usage.OutputTokens })),
		newTable(table{Title: "Cost by agent", Of: "run of", Unit: unitMoney}, r.starters(), nil,
			column{"cost", "sum", func(g item) float64 { return g.Usage.Cost }}),
		newTable(table{Title: "Tokens of tools and their estimates",
			Note: "calls of tools with expected_tokens", Of: "tool", Unit: unitCount, Apart: true,
			BehindOf: "accuracy"}, estimated,
			func(g item) string { return figure(unitPercent, 100*g.Accuracy) },
			count("estimated", "in", func(g item) int { return g.EstimatedTokens }),
			count("actual", "out", func(g item) int { return g.ActualTokens })),
	}
}

func (r *Report) callTables() []table {
	var errors []item
	for _, t := range stats.ErrorTypes(r.Found.Errors) {
		errors = append(errors, item{Name: string(t),
			CallStats: stats.CallStats{Calls: r.Found.Errors[t]}})
	}
	return []table{
		outcomeTable("tool", r.Found.Tools), outcomeTable("lane", r.Found.Lanes),
		newTable(table{Title: "Errors by type", Note: "failed and refused calls", Of: "error",
			Unit: unitCount}, errors, nil,
			count("calls", "failed", func(g item) int { return g.Calls })),
	}
}

// outcomeTable returns the table of the statuses of the calls of each tool or lane.
func outcomeTable(of string, groups []stats.GroupStats) table {
	return newTable(table{Title: "Calls by " + of, Of: of, Unit: unitCount,
		BehindOf: "share of finished calls that completed"}, toItems(groups),
		func(g item) string { return ratio(g.Completed, g.Calls-g.Running-g.Withheld) },
		count("completed", "runs", func(g item) int { return g.Completed }),
		count("failed", "failed", func(g item) int { return g.Failed }),
		count("refused", "tried", func(g item) int { return g.Refused }),
		count("cancelled", "cancelled", func(g item) int { return g.Cancelled }),
		count("running", "queue", func(g item) int { return g.Running }),
		count("withheld", "withheld", func(g item) int { return g.Withheld }))
}

func (r *Report) timeTables() (tables []table) {
	for _, by := range []struct {
		of    string
		items []item
	}{{"tool", toItems(r.Found.Tools)}, {"lane", toItems(r.Found.Lanes)}} {
		tables = append(tables,
			newTable(table{Title: "Duration of calls by " + by.of, Of: by.of, Unit: unitTime,
				Apart: true}, by.items, nil,
				duration("average", "runs", func(g item) api.Duration { return g.Average }),
				duration("longest", "in", func(g item) api.Duration { return g.Longest })),
			newTable(table{Title: "Waiting time of calls by " + by.of, Of: by.of, Unit: unitTime,
				Apart: true}, by.items, nil,
				duration("average", "out", func(g item) api.Duration { return g.AverageWait }),
				duration("longest", "in", func(g item) api.Duration { return g.LongestWait })))
	}
	slow := "slow: longer than " + shortDuration(r.Found.Thresholds.Slow.Std())
	return append(tables, newTable(table{Title: "Slow calls and retries", Note: slow, Of: "tool",
		Unit: unitCount, Apart: true}, toItems(r.Found.Tools), nil,
		count("slow", "sum", func(g item) int { return g.Slow }),
		count("retries", "tried", func(g item) int { return g.Retries })))
}
