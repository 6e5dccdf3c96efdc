package console

import (
	"cmp"
	"time"

	"github.com/switchyard/switchyard/api"
)

// chart is a small timeline: one bar for each call of a page.
type chart struct {
	Width, Height int
	Bars          []bar
	From, To      time.Time
}

// bar is the bar of a call: where it waited for a person and in its lane, and where it ran.
type bar struct {
	Y, PersonX, PersonWidth, QueueX, QueueWidth, X, Width, TextX int
	Class, Label, Title                                          string
	// Right ends the label at TextX, and Inside writes it on the bar.
	Right, Inside bool
}

// Sizes of a chart, in its own units.
const (
	chartWidth = 1000
	rowHeight  = 18
	maxBars    = 60
)

// chartOf returns the chart of the last calls that ran, or were decided; nil without any.
func chartOf(calls []api.Record) *chart {
	var ran []api.Record
	for _, r := range calls {
		if a := r.Approval; a != nil && r.Scheduled.IsZero() {
			r.Scheduled, r.Started, r.Closed = a.At, a.At, a.At
		}
		if !r.Scheduled.IsZero() && !r.Closed.IsZero() {
			ran = append(ran, r)
		}
	}
	ran = ran[max(0, len(ran)-maxBars):]
	if len(ran) == 0 {
		return nil
	}
	c := &chart{Width: chartWidth, Height: rowHeight*len(ran) + 4}
	c.span(ran)
	for i, r := range ran {
		c.Bars = append(c.Bars, c.bar(i, r))
	}
	return c
}

// span sets the ends of the axis.
func (c *chart) span(calls []api.Record) {
	c.From = beginOf(calls[0])
	for _, r := range calls {
		if began := beginOf(r); began.Before(c.From) {
			c.From = began
		}
		if r.Closed.After(c.To) {
			c.To = r.Closed
		}
	}
}

// beginOf returns since when a call waited, for a person or in its lane.
func beginOf(r api.Record) time.Time {
	if a := r.Approval; a != nil && !a.Asked.IsZero() {
		return a.Asked
	}
	return r.Scheduled
}

// barClass maps the ends of calls to the colours of their bars.
var barClass = map[api.CallStatus]string{api.CallFailed: "failed", api.CallRefused: "failed",
	api.CallCancelled: "cancelled"}

func (c *chart) bar(row int, r api.Record) bar {
	started := r.Started
	if started.IsZero() {
		started = r.Closed
	}
	x0, queued, x1, x2 := c.x(beginOf(r)), c.x(r.Scheduled), c.x(started), c.x(r.Closed)
	b := bar{Y: row*rowHeight + 4, PersonX: x0, PersonWidth: queued - x0, QueueX: queued,
		QueueWidth: x1 - queued, X: x1, Width: max(2, x2-x1),
		Class: cmp.Or(barClass[r.Status], "runs"), Label: r.CallID + " " + r.Tool,
		Title: r.CallID + " " + r.Tool + ": " + string(r.Status) + ", waited " +
			took(r.QueueWait.Std()) + ", took " + took(r.Duration.Std())}
	if waited := r.Scheduled.Sub(beginOf(r)); waited > 0 {
		b.Title += ", waited " + took(waited) + " for a person"
	}
	switch b.TextX = x2 + 6; {
	case x2 > chartWidth*2/3 && x0 > chartWidth/3:
		b.TextX, b.Right = x0-6, true
	case x2 > chartWidth*2/3:
		b.TextX, b.Inside = x1+6, true
	}
	return b
}

// x returns the place of a time on the axis.
func (c *chart) x(t time.Time) int {
	whole := max(c.To.Sub(c.From), time.Millisecond)
	return int(float64(chartWidth-4) * float64(t.Sub(c.From)) / float64(whole))
}
