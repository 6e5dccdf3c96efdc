package html

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/switchyard/switchyard/internal/value/display"
)

// Sizes of a chart, in its own units. The stylesheet scales it to the page.
const (
	chartWidth = 1200
	labelWidth = 230
	rowHeight  = 20
	topHeight  = 62
	// letter is about the width of a character.
	letter = 7
	// maxDrawn bounds the rows of a chart. The list below it has all.
	maxDrawn = 300
)

// chart is a picture of rows over time: the data of pages/chart.html.
type chart struct {
	Height, Bottom int
	Label, Note    string
	Legend         []legendMark
	Ticks          []tick
	Rows           []chartRow
	from, whole    time.Duration
}

type legendMark struct {
	legendEntry
	X, Y int
}

type tick struct {
	X    int
	Text string
}

type chartRow struct {
	Index, Y    int
	Label, Note string
	Bad         bool
	Bars        []bar
	NoteX       int
	Right       bool // ends the note at NoteX
}

type bar struct {
	Class    class
	X, Width int
	Title    string
}

// Chart returns the runs as one SVG element. Its stylesheet is that of package pagestyle. Without
// anything to draw it is empty.
func (t *Timeline) Chart() (template.HTML, error) {
	var b strings.Builder
	err := write(&b, "chart.html", newChart(t.sorted()))
	return template.HTML(strings.TrimSpace(b.String())), err
}

// newChart draws rows, the longest if there are too many.
func newChart(all []row) chart {
	rows := slices.DeleteFunc(slices.Clone(all), func(r row) bool { return r.within })
	c := chart{}
	if drawable := len(rows); drawable > maxDrawn {
		slices.SortStableFunc(rows, func(x, y row) int {
			return cmp.Compare(y.length(), x.length())
		})
		rows = rows[:maxDrawn]
		slices.SortFunc(rows, func(x, y row) int { return cmp.Compare(x.Index, y.Index) })
		c.Note = fmt.Sprintf("The chart has the %d longest of %s rows.", maxDrawn,
			display.Thousands(drawable))
	}
	if len(rows) == 0 {
		return c
	}
	c.setTimes(rows)
	c.Bottom = topHeight + rowHeight*len(rows)
	c.Height = c.Bottom + 16
	c.Label = fmt.Sprintf("%s from %s to %s. The page has the same as text.",
		display.Plural(len(rows), "row"), formatElapsed(c.from), formatElapsed(c.from+c.whole))
	used := map[class]bool{}
	for i, r := range rows {
		c.Rows = append(c.Rows, c.row(topHeight+i*rowHeight, r))
		for _, s := range r.spans {
			used[s.class] = true
		}
	}
	c.setLegend(used)
	return c
}

// setLegend explains the classes that are drawn, in at most two lines.
func (c *chart) setLegend(used map[class]bool) {
	x, y := 4, 4
	for _, l := range legend {
		if !used[l.Class] {
			continue
		}
		width := 44 + letter*len(l.Text)
		if x+width > chartWidth {
			x, y = 4, y+18
		}
		c.Legend = append(c.Legend, legendMark{l, x, y})
		x += width
	}
}

// timeSteps are the possible distances of times on an axis, and lengths of intervals.
var timeSteps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond,
	20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond,
	500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
	30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	48 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour,
}

// chooseStep returns the shortest of timeSteps that divides a time into fewer than most parts, or a
// longer one.
func chooseStep(whole, most time.Duration) time.Duration {
	for _, s := range timeSteps {
		if whole/s < most {
			return s
		}
	}
	return max(timeSteps[len(timeSteps)-1], whole/most)
}

// setTimes sets the ends of the axis, and the times on it.
func (c *chart) setTimes(rows []row) {
	c.from = rows[0].from()
	to := c.from
	for _, r := range rows {
		c.from = min(c.from, r.from())
		to = max(to, r.to())
	}
	c.whole = max(to-c.from, time.Millisecond)
	step := chooseStep(c.whole, 8)
	for n := range time.Duration(10) {
		if at := c.from.Truncate(step) + n*step; at >= c.from && at <= to {
			c.Ticks = append(c.Ticks, tick{c.x(at), formatElapsed(at)})
		}
	}
}

// x returns the place of a time.
func (c *chart) x(at time.Duration) int {
	return labelWidth + int(float64(chartWidth-labelWidth-30)*float64(at-c.from)/float64(c.whole))
}

func (c *chart) row(y int, r row) chartRow {
	out := chartRow{Index: r.Index, Y: y, Label: display.Shorten(r.Label, labelWidth/letter),
		Note: display.Shorten(r.Note, 90), Bad: r.Bad}
	for _, s := range r.spans {
		x := c.x(s.from)
		title := fmt.Sprintf("%s: %s, %s to %s", r.Label, s.class.text(), formatElapsed(s.from),
			formatElapsed(s.to))
		out.Bars = append(out.Bars, bar{s.class, x, max(2, c.x(s.to)-x), title})
	}
	first, last := c.x(r.from()), c.x(r.to())
	width := letter * utf8.RuneCountInString(out.Note)
	switch {
	case last+8+width <= chartWidth:
		out.NoteX = last + 8
	case first-8-width >= labelWidth:
		out.NoteX, out.Right = first-8, true
	default: // over the bar, with a margin that keeps it readable
		out.NoteX, out.Right = chartWidth-12, true
	}
	return out
}
