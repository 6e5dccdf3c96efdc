// Package timeline draws calls over time: a row for each, pale while it waited and solid while it
// ran. It draws the pictures of docs/lanes.md from the call records of real runs.
package timeline

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Picture is a timeline of calls, in groups with a headline each.
type Picture struct {
	// Title describes the picture.
	Title string
	// Tick is the time between two labels of the axis; labels count multiples of Unit.
	Tick, Unit time.Duration
	// UnitName follows the last label.
	UnitName string
	// Span is the minimum length of the axis, so that pictures can be compared.
	Span   time.Duration
	Groups []Group
}

// Group has rows under a headline.
type Group struct {
	Name string
	Rows []Row
}

// Row is a call.
type Row struct {
	Label string
	// Asked is when the call was requested; Began and Ended bound its execution. For a call that
	// never ran, Began equals Ended.
	Asked, Began, Ended time.Time
	// Worker is the identity of the worker that ran it.
	Worker string
	// Note is shown beside the bar.
	Note string
}

// Ran returns when the call of a record ran, as exactly as the record has it: the server learns of
// a call's end a little later, and by then the next one may run.
func Ran(r api.Record) (began, ended time.Time) {
	began = r.Closed.Add(-r.Duration.Std())
	if ran := r.Phases[api.PhaseExecution] + r.Phases[api.PhasePostExecution]; ran > 0 &&
		ran < r.Duration {
		return began, began.Add(ran.Std())
	}
	return began, r.Closed
}

// NewRow returns the row of a call's record, under its id. asked is when its run requested the
// call,
// which the record does not contain if the run delayed it.
func NewRow(r api.Record, asked time.Time) Row {
	began, ended := Ran(r)
	if r.Error != nil {
		return Row{Label: r.CallID, Asked: asked, Began: ended, Ended: ended,
			Note: string(r.Error.Type)}
	}
	return Row{Label: r.CallID, Asked: asked, Began: began, Ended: ended, Worker: r.Worker}
}

// Sizes in pixels.
const (
	width, left, right   = 760, 150, 30
	top, bottom          = 46, 34
	rowHeight, barHeight = 21, 13
	// least is the width of the narrowest visible bar.
	least = 1.5
)

// style is for light and dark surroundings; the picture has its own background, so that it is
// readable in both.
const style = `
text{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328}
.ground{fill:#ffffff;stroke:#d0d7de}
.line{stroke:#d0d7de;stroke-width:1}
.small{fill:#59636e;font-size:11px}
.head{font-weight:600}
.note{fill:#cf222e;font-size:11px}
.w0{fill:#d5d9de}.w1{fill:#0969da}.w2{fill:#bc4c00}
.refused{stroke:#cf222e;stroke-width:2}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.ground{fill:#0d1117;stroke:#3d444d}
.line{stroke:#30363d}
.small{fill:#9198a1}
.note{fill:#ff7b72}
.w0{fill:#363d47}.w1{fill:#4493f8}.w2{fill:#f0883e}
.refused{stroke:#ff7b72}
}
`

// drawing is a picture that is being drawn.
type drawing struct {
	bytes.Buffer
	Picture
	from, to time.Time
	workers  []string
	height   int
}

// SVG draws the picture. Workers are numbered by the start of their first calls.
func (p Picture) SVG() []byte {
	d := &drawing{Picture: p, height: top + bottom}
	var rows []Row
	for _, g := range p.Groups {
		d.height += rowHeight * (len(g.Rows) + 1)
		rows = append(rows, g.Rows...)
	}
	d.from, d.to = slices.MinFunc(rows, byAsked).Asked, slices.MaxFunc(rows, byEnded).Ended
	if end := d.from.Add(p.Span); d.to.Before(end) {
		d.to = end
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return a.Began.Compare(b.Began) })
	for _, r := range rows {
		if r.Worker != "" && !slices.Contains(d.workers, r.Worker) {
			d.workers = append(d.workers, r.Worker)
		}
	}
	d.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`,
		width, d.height, width, d.height)
	d.put("<title>%s</title>\n<desc>%s</desc>\n<style>%s</style>", escape(p.Title),
		escape(d.about()), style)
	d.put(`<rect class="ground" x=".5" y=".5" width="%d" height="%d" rx="6"/>`, width-1, d.height-1)
	d.legend(rows)
	d.axis()
	y := top
	for _, g := range p.Groups {
		d.text("head", 14, y+15, "", g.Name)
		y += rowHeight
		for _, r := range g.Rows {
			d.row(y, r)
			y += rowHeight
		}
	}
	d.put("</svg>")
	return d.Bytes()
}

// about describes the picture for screen readers.
func (d *drawing) about() string {
	var rows []string
	for _, g := range d.Groups {
		for _, r := range g.Rows {
			text := fmt.Sprintf("%s, %s: asked for at %s", g.Name, r.Label, d.number(r.Asked))
			if r.Worker == "" {
				text += fmt.Sprintf(", failed at %s with %s", d.number(r.Ended), r.Note)
			} else {
				text += fmt.Sprintf(", ran from %s to %s on worker %d", d.number(r.Began),
					d.number(r.Ended), 1+slices.Index(d.workers, r.Worker))
			}
			rows = append(rows, text)
		}
	}
	return "In " + d.UnitName + ". " + strings.Join(rows, "; ") + "."
}

// number writes a time in units of the axis.
func (d *drawing) number(t time.Time) string { return number(t.Sub(d.from), d.Unit) }

func byAsked(a, b Row) int { return a.Asked.Compare(b.Asked) }
func byEnded(a, b Row) int { return a.Ended.Compare(b.Ended) }

// put writes a line.
func (d *drawing) put(format string, args ...any) { fmt.Fprintf(&d.Buffer, format+"\n", args...) }

func (d *drawing) text(class string, x, y int, more, text string) {
	d.put(`<text class="%s" x="%d" y="%d"%s>%s</text>`, class, x, y, more, escape(text))
}

// bar draws a bar, unless it would be invisible.
func (d *drawing) bar(class string, from, to float64, y int, most float64) {
	if w := max(to-from, most); w > 0 {
		d.put(`<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="2"/>`, class, from,
			y+(rowHeight-barHeight)/2, w, barHeight)
	}
}

// at returns the position of a time on the axis.
func (d *drawing) at(t time.Time) float64 {
	span := max(d.to.Sub(d.from), time.Millisecond)
	return left + float64(t.Sub(d.from))/float64(span)*(width-left-right)
}

// colour returns the class of a worker's calls.
func (d *drawing) colour(worker string) string {
	return fmt.Sprint("w", 1+slices.Index(d.workers, worker))
}

// legend explains the colours.
func (d *drawing) legend(rows []Row) {
	x := left
	entry := func(class, text string) {
		d.bar(class, float64(x), float64(x+22), 12, 0)
		d.text("small", x+28, 26, "", text)
		x += 28 + 6*len(text) + 22
	}
	entry("w0", "waits")
	for i, w := range d.workers {
		text := "runs"
		if len(d.workers) > 1 {
			text = fmt.Sprintf("runs on worker %d", i+1)
		}
		entry(d.colour(w), text)
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Worker == "" }) {
		d.cross(float64(x+8), 12)
		d.text("small", x+20, 26, "", "fails at once")
	}
}

// axis draws the numbers and their lines.
func (d *drawing) axis() {
	foot := d.height - bottom + 4
	for t := time.Duration(0); t <= d.to.Sub(d.from); t += d.Tick {
		x := d.at(d.from.Add(t))
		d.put(`<line class="line" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, x, top-4, x, foot)
		d.text("small", int(x), foot+15, ` text-anchor="middle"`, number(t, d.Unit))
	}
	d.text("small", 14, foot+15, "", d.UnitName)
}

// number writes how many units a time is.
func number(t, unit time.Duration) string {
	return strconv.FormatFloat(math.Round(float64(t)/float64(unit)*100)/100, 'f', -1, 64)
}

func (d *drawing) row(y int, r Row) {
	d.text("", 26, y+15, "", r.Label)
	asked, began, ended := d.at(r.Asked), d.at(r.Began), d.at(r.Ended)
	d.bar("w0", asked, began, y, 0)
	if r.Worker == "" {
		d.cross(ended, y)
		d.text("note", int(ended)+10, y+15, "", r.Note)
		return
	}
	d.bar(d.colour(r.Worker), began, ended, y, least)
}

// cross marks the end of a call that never ran.
func (d *drawing) cross(x float64, y int) {
	const arm = 4
	middle := float64(y) + rowHeight/2.0
	d.put(`<path class="refused" d="M%.1f %.1fl%d %dm0 -%dl-%d %d"/>`, x-arm, middle-arm, 2*arm,
		2*arm, 2*arm, 2*arm, 2*arm)
}

func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes everything
	return b.String()
}
