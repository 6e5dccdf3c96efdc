package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

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

// add adds a series with one value for each thing.
func add[T any](c *table, name, tone string, things []T, value func(T) float64) {
	s := series{Name: name, Tone: tone, Values: []float64{}}
	for _, thing := range things {
		s.Values = append(s.Values, value(thing))
	}
	c.Series = append(c.Series, s)
}

// sum adds up the runs with a common name or time.
type sum struct {
	name                 string
	solved, failed, open int
	in, out              int
	cost                 float64
}

func (s *sum) add(r reportedRun) {
	switch r.decision {
	case audit.SolvedYes:
		s.solved++
	case audit.SolvedOpen:
		s.open++
	default:
		s.failed++
	}
	s.in, s.out, s.cost = s.in+r.usage.InputTokens, s.out+r.usage.OutputTokens, s.cost+r.usage.Cost
}

// byName adds up the runs of each agent, plan and tool, most tokens first.
func (r *Report) byName() []*sum {
	var list []*sum
	at := map[string]*sum{}
	for _, run := range r.runs {
		if at[run.name] == nil {
			at[run.name] = &sum{name: run.name}
			list = append(list, at[run.name])
		}
		at[run.name].add(run)
	}
	slices.SortStableFunc(list, func(x, y *sum) int {
		return cmp.Or(cmp.Compare(y.in+y.out, x.in+x.out),
			cmp.Compare(y.solved+y.failed+y.open, x.solved+x.failed+x.open))
	})
	return list
}

// steps are the possible lengths of a time interval.
var steps = []time.Duration{
	time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute,
	time.Hour, 3 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
	28 * 24 * time.Hour,
}

// maxParts bounds the number of time intervals.
const maxParts = 32

// byTime adds up the runs that began in each time interval. step is the length of an interval.
func (r *Report) byTime() (list []*sum, step time.Duration) {
	runs := r.dated()
	if len(runs) == 0 {
		return nil, 0
	}
	first, last := runs[0].began.UTC(), runs[len(runs)-1].began.UTC()
	step = steps[len(steps)-1]
	for _, s := range steps {
		if last.Sub(first.Truncate(s))/s < maxParts {
			step = s
			break
		}
	}
	layout := layoutOf(step, first, last)
	first = first.Truncate(step)
	for at := first; !at.After(last); at = at.Add(step) {
		list = append(list, &sum{name: at.Format(layout)})
	}
	for _, run := range runs {
		list[int(run.began.UTC().Sub(first)/step)].add(run)
	}
	return list, step
}

// named returns a table with a name for each sum.
func named(c table, sums []*sum) table {
	c.Names = []string{}
	for _, s := range sums {
		c.Names = append(c.Names, s.name)
	}
	return c
}

// layoutOf returns the shortest time layout that tells the intervals apart.
func layoutOf(step time.Duration, first, last time.Time) string {
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

func (r *Report) runTables() []table {
	by := r.byName()
	times, step := r.byTime()
	byName := named(table{Title: "Runs by agent, plan and tool", Of: "run of", Unit: unitCount,
		BehindOf: "success share"}, by)
	overTime := named(table{Title: "Runs over time", Note: "by start time, " + every(step),
		Of: "from (UTC)", Unit: unitCount}, times)
	for _, c := range []struct {
		table *table
		sums  []*sum
	}{{&byName, by}, {&overTime, times}} {
		add(c.table, "successful", "model", c.sums, func(s *sum) float64 { return float64(s.solved) })
		add(c.table, "failed", "failed", c.sums, func(s *sum) float64 { return float64(s.failed) })
		add(c.table, "running", "queue", c.sums, func(s *sum) float64 { return float64(s.open) })
	}
	for _, s := range by {
		byName.Behind = append(byName.Behind, ratio(s.solved, s.solved+s.failed))
	}
	return []table{byName, overTime}
}

// every names the length of the intervals.
func every(step time.Duration) string {
	if step >= 24*time.Hour {
		return display.Plural(int(step/(24*time.Hour)), "day") + " each, in UTC"
	}
	return evenDuration(step) + " each, in UTC"
}

func (r *Report) tokenTables() []table {
	by := r.byName()
	times, step := r.byTime()
	tokens := named(table{Title: "Tokens by agent", Of: "run of", Unit: unitCount,
		BehindOf: "per successful run"}, by)
	cost := named(table{Title: "Cost by agent", Of: "run of", Unit: unitMoney}, by)
	tokensOver := named(table{Title: "Tokens over time", Note: "by start time, " +
		every(step), Of: "from (UTC)", Unit: unitCount}, times)
	costOver := named(table{Title: "Cost over time", Note: "by start time, " + every(step),
		Of: "from (UTC)", Unit: unitMoney}, times)
	in := func(s *sum) float64 { return float64(s.in) }
	out := func(s *sum) float64 { return float64(s.out) }
	dollars := func(s *sum) float64 { return s.cost }
	add(&tokens, "in", "in", by, in)
	add(&tokens, "out", "out", by, out)
	add(&cost, "cost", "sum", by, dollars)
	add(&tokensOver, "in", "in", times, in)
	add(&tokensOver, "out", "out", times, out)
	add(&costOver, "cost", "sum", times, dollars)
	for _, s := range by {
		tokensPerSuccessfulRun := "none successful"
		if s.solved > 0 {
			tokensPerSuccessfulRun = figure(unitCount, float64(s.in+s.out)/float64(s.solved))
		}
		tokens.Behind = append(tokens.Behind, tokensPerSuccessfulRun)
	}
	calls := groupTable(table{Title: "Tokens of tools",
		Note: "tokens of arguments and results in the models' context", Of: "tool",
		Unit: unitCount}, r.Found.Tools)
	add(&calls, "arguments", "in", r.Found.Tools,
		func(g stats.GroupStats) float64 { return float64(g.ArgumentTokens) })
	add(&calls, "results", "out", r.Found.Tools,
		func(g stats.GroupStats) float64 { return float64(g.ResultTokens) })
	return []table{tokens, tokensOver, cost, costOver, calls, r.wasteTable()}
}

// wasteTable compares the tokens of calls with their estimates, if toolspecs have any.
func (r *Report) wasteTable() table {
	evaluated := slices.DeleteFunc(slices.Clone(r.Found.Tools), func(g stats.GroupStats) bool {
		return g.Estimated == 0
	})
	c := groupTable(table{Title: "Tokens of tools and their estimates",
		Note: "calls of tools with expected_tokens", Of: "tool", Unit: unitCount, Apart: true,
		BehindOf: "accuracy"}, evaluated)
	add(&c, "estimated", "in", evaluated,
		func(g stats.GroupStats) float64 { return float64(g.EstimatedTokens) })
	add(&c, "actual", "out", evaluated,
		func(g stats.GroupStats) float64 { return float64(g.ActualTokens) })
	for _, g := range evaluated {
		c.Behind = append(c.Behind, figure(unitPercent, 100*g.Accuracy))
	}
	return c
}

// groupTable returns a table with a name for each tool or lane.
func groupTable(c table, groups []stats.GroupStats) table {
	c.Names = []string{}
	for _, g := range groups {
		c.Names = append(c.Names, cmp.Or(g.Name, "no "+c.Of))
	}
	return c
}

func (r *Report) callTables() []table {
	list := []table{outcomes("tool", r.Found.Tools), outcomes("lane", r.Found.Lanes)}
	types := stats.ErrorTypes(r.Found.Errors)
	errors := table{Title: "Errors by type", Note: "failed and refused calls",
		Of: "error", Unit: unitCount, Names: []string{}}
	s := series{Name: "calls", Tone: "failed", Values: []float64{}}
	for _, t := range types {
		errors.Names = append(errors.Names, string(t))
		s.Values = append(s.Values, float64(r.Found.Errors[t]))
	}
	errors.Series = []series{s}
	return append(list, errors)
}

// outcomes returns the table of the statuses of the calls of each tool or lane.
func outcomes(of string, groups []stats.GroupStats) table {
	c := groupTable(table{Title: "Calls by " + of, Of: of, Unit: unitCount,
		BehindOf: "share of finished calls that completed"}, groups)
	for _, s := range []struct {
		name, tone string
		value      func(stats.GroupStats) int
	}{
		{"completed", "runs", func(g stats.GroupStats) int { return g.Completed }},
		{"failed", "failed", func(g stats.GroupStats) int { return g.Failed }},
		{"refused", "tried", func(g stats.GroupStats) int { return g.Refused }},
		{"cancelled", "cancelled", func(g stats.GroupStats) int { return g.Cancelled }},
		{"running", "queue", func(g stats.GroupStats) int { return g.Running }},
		{"withheld", "withheld", func(g stats.GroupStats) int { return g.Withheld }},
	} {
		add(&c, s.name, s.tone, groups, func(g stats.GroupStats) float64 {
			return float64(s.value(g))
		})
	}
	for _, g := range groups {
		c.Behind = append(c.Behind, ratio(g.Completed, g.Calls-g.Running-g.Withheld))
	}
	return c
}

func (r *Report) timeTables() []table {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	var list []table
	for _, of := range []struct {
		name   string
		groups []stats.GroupStats
	}{{"tool", r.Found.Tools}, {"lane", r.Found.Lanes}} {
		took := groupTable(table{Title: "Duration of calls by " + of.name, Of: of.name,
			Unit: unitTime, Apart: true}, of.groups)
		add(&took, "average", "runs", of.groups,
			func(g stats.GroupStats) float64 { return ms(g.Average.Std()) })
		add(&took, "longest", "in", of.groups,
			func(g stats.GroupStats) float64 { return ms(g.Longest.Std()) })
		waited := groupTable(table{Title: "Waiting time of calls by " + of.name,
			Of: of.name, Unit: unitTime, Apart: true}, of.groups)
		add(&waited, "average", "out", of.groups,
			func(g stats.GroupStats) float64 { return ms(g.AverageWait.Std()) })
		add(&waited, "longest", "in", of.groups,
			func(g stats.GroupStats) float64 { return ms(g.LongestWait.Std()) })
		list = append(list, took, waited)
	}
	slow := groupTable(table{Title: "Slow calls and retries",
		Note: "slow: longer than " + shortDuration(r.Found.Thresholds.Slow.Std()), Of: "tool",
		Unit: unitCount, Apart: true}, r.Found.Tools)
	add(&slow, "slow", "sum", r.Found.Tools,
		func(g stats.GroupStats) float64 { return float64(g.Slow) })
	add(&slow, "retries", "tried", r.Found.Tools,
		func(g stats.GroupStats) float64 { return float64(g.Retries) })
	return append(list, slow)
}
