package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/value/display"
)

// chart is a bar chart with a table of its numbers. A new chart is one function that returns one.
type chart struct {
	Index int    `json:"-"`
	Title string `json:"title"`
	Note  string `json:"-"`
	// Of names what the bars are: agents, tools, lanes, times.
	Of   string `json:"-"`
	Unit unit   `json:"unit"`
	// Upright draws vertical bars in the order of the names, for times. Otherwise bars are
	// horizontal.
	Upright bool `json:"upright,omitempty"`
	// Apart draws the series side by side. Otherwise they are stacked.
	Apart  bool     `json:"apart,omitempty"`
	Names  []string `json:"names"`
	Series []series `json:"series"`
	// Behind are the texts after the bars; nil for none.
	Behind []string `json:"behind,omitempty"`
	// BehindOf names those texts in the table.
	BehindOf string `json:"-"`
}

// series has one number for every name of a chart. Tone is its colour in the style sheet.
type series struct {
	Name   string    `json:"name"`
	Tone   string    `json:"tone"`
	Values []float64 `json:"values"`
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

// Rows returns the numbers of the chart as the rows of a table.
func (c chart) Rows() [][]string {
	rows := make([][]string, len(c.Names))
	for i, name := range c.Names {
		rows[i] = []string{name}
		for _, s := range c.Series {
			rows[i] = append(rows[i], figure(c.Unit, s.Values[i]))
		}
		if c.Behind != nil {
			rows[i] = append(rows[i], c.Behind[i])
		}
	}
	return rows
}

// empty reports whether the chart has nothing to show.
func (c chart) empty() bool {
	return !slices.ContainsFunc(c.Series, func(s series) bool {
		return slices.ContainsFunc(s.Values, func(v float64) bool { return v != 0 })
	})
}

// add adds a series with one value for each thing.
func add[T any](c *chart, name, tone string, things []T, value func(T) float64) {
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
const maxParts = 48

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

// named returns a chart with a name for each sum.
func named(c chart, sums []*sum) chart {
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

func (r *Report) runCharts() []chart {
	by := r.byName()
	times, step := r.byTime()
	byName := named(chart{Title: "Runs by agent, plan and tool", Of: "run of", Unit: unitCount,
		BehindOf: "success share"}, by)
	overTime := named(chart{Title: "Runs over time", Note: "by start time, " + every(step),
		Of: "from (UTC)", Unit: unitCount, Upright: true}, times)
	for _, c := range []struct {
		chart *chart
		sums  []*sum
	}{{&byName, by}, {&overTime, times}} {
		add(c.chart, "successful", "model", c.sums, func(s *sum) float64 { return float64(s.solved) })
		add(c.chart, "failed", "failed", c.sums, func(s *sum) float64 { return float64(s.failed) })
		add(c.chart, "running", "held", c.sums, func(s *sum) float64 { return float64(s.open) })
	}
	for _, s := range by {
		byName.Behind = append(byName.Behind, ratio(s.solved, s.solved+s.failed)+" successful")
	}
	return []chart{byName, overTime}
}

// every names the length of the intervals.
func every(step time.Duration) string {
	if step >= 24*time.Hour {
		return display.Plural(int(step/(24*time.Hour)), "day") + " each, in UTC"
	}
	return strings.Replace(strings.TrimSuffix(strings.TrimSuffix(shortDuration(step), " 00 s"), " 00 min"),
		".00 s", " s", 1) + " each, in UTC"
}

func (r *Report) tokenCharts() []chart {
	by := r.byName()
	times, step := r.byTime()
	tokens := named(chart{Title: "Tokens by agent",
		Note: "beside the bars: tokens per successful run", Of: "run of", Unit: unitCount,
		BehindOf: "per successful run"}, by)
	cost := named(chart{Title: "Cost by agent", Of: "run of", Unit: unitMoney}, by)
	tokensOver := named(chart{Title: "Tokens over time", Note: "by start time, " +
		every(step), Of: "from (UTC)", Unit: unitCount, Upright: true}, times)
	costOver := named(chart{Title: "Cost over time", Note: "by start time, " + every(step),
		Of: "from (UTC)", Unit: unitMoney, Upright: true}, times)
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
			tokensPerSuccessfulRun = figure(unitCount, float64(s.in+s.out)/float64(s.solved)) +
				" per successful run"
		}
		tokens.Behind = append(tokens.Behind, tokensPerSuccessfulRun)
	}
	calls := groupChart(chart{Title: "Tokens of tools",
		Note: "tokens of arguments and results in the models' context", Of: "tool",
		Unit: unitCount}, r.Found.Tools)
	add(&calls, "arguments", "in", r.Found.Tools,
		func(g stats.GroupStats) float64 { return float64(g.ArgumentTokens) })
	add(&calls, "results", "out", r.Found.Tools,
		func(g stats.GroupStats) float64 { return float64(g.ResultTokens) })
	return []chart{tokens, tokensOver, cost, costOver, calls, r.wasteChart()}
}

// wasteChart compares the tokens of calls with their estimates, if toolspecs have any.
func (r *Report) wasteChart() chart {
	evaluated := slices.DeleteFunc(slices.Clone(r.Found.Tools), func(g stats.GroupStats) bool {
		return g.Estimated == 0
	})
	c := groupChart(chart{Title: "Tokens of tools and their estimates",
		Note: "calls of tools with expected_tokens; beside the bars: accuracy",
		Of:   "tool", Unit: unitCount, Apart: true, BehindOf: "accuracy"}, evaluated)
	add(&c, "estimated", "in", evaluated,
		func(g stats.GroupStats) float64 { return float64(g.EstimatedTokens) })
	add(&c, "actual", "out", evaluated,
		func(g stats.GroupStats) float64 { return float64(g.ActualTokens) })
	for _, g := range evaluated {
		c.Behind = append(c.Behind, figure(unitPercent, 100*g.Accuracy))
	}
	return c
}

// groupChart returns a chart with a name for each tool or lane.
func groupChart(c chart, groups []stats.GroupStats) chart {
	c.Names = []string{}
	for _, g := range groups {
		c.Names = append(c.Names, cmp.Or(g.Name, "no "+c.Of))
	}
	return c
}

func (r *Report) callCharts() []chart {
	list := []chart{outcomes("tool", r.Found.Tools), outcomes("lane", r.Found.Lanes)}
	types := stats.ErrorTypes(r.Found.Errors)
	errors := chart{Title: "Errors by type", Note: "failed and refused calls",
		Of: "error", Unit: unitCount, Names: []string{}}
	s := series{Name: "calls", Tone: "failed", Values: []float64{}}
	for _, t := range types {
		errors.Names = append(errors.Names, string(t))
		s.Values = append(s.Values, float64(r.Found.Errors[t]))
	}
	errors.Series = []series{s}
	return append(list, errors)
}

// outcomes returns the chart of the statuses of the calls of each tool or lane.
func outcomes(of string, groups []stats.GroupStats) chart {
	c := groupChart(chart{Title: "Calls by " + of,
		Note: "beside the bars: share of finished calls that completed", Of: of,
		Unit: unitCount, BehindOf: "completed"}, groups)
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

func (r *Report) timeCharts() []chart {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	var list []chart
	for _, of := range []struct {
		name   string
		groups []stats.GroupStats
	}{{"tool", r.Found.Tools}, {"lane", r.Found.Lanes}} {
		took := groupChart(chart{Title: "Duration of calls by " + of.name, Of: of.name,
			Unit: unitTime, Apart: true}, of.groups)
		add(&took, "average", "runs", of.groups,
			func(g stats.GroupStats) float64 { return ms(g.Average.Std()) })
		add(&took, "longest", "in", of.groups,
			func(g stats.GroupStats) float64 { return ms(g.Longest.Std()) })
		waited := groupChart(chart{Title: "Waiting time of calls by " + of.name,
			Of: of.name, Unit: unitTime, Apart: true}, of.groups)
		add(&waited, "average", "held", of.groups,
			func(g stats.GroupStats) float64 { return ms(g.AverageWait.Std()) })
		add(&waited, "longest", "queue", of.groups,
			func(g stats.GroupStats) float64 { return ms(g.LongestWait.Std()) })
		list = append(list, took, waited)
	}
	slow := groupChart(chart{Title: "Slow calls and retries",
		Note: "slow: longer than " + shortDuration(r.Found.Thresholds.Slow.Std()), Of: "tool",
		Unit: unitCount, Apart: true}, r.Found.Tools)
	add(&slow, "slow", "sum", r.Found.Tools,
		func(g stats.GroupStats) float64 { return float64(g.Slow) })
	add(&slow, "retries", "tried", r.Found.Tools,
		func(g stats.GroupStats) float64 { return float64(g.Retries) })
	return append(list, slow)
}
