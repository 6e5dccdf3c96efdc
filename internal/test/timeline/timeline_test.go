package timeline

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func after(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

// elements returns the names and classes of a picture's elements, "rect wait" for example, and all
// of its text; invalid XML fails the test.
func elements(t *testing.T, svg []byte) (list []string, text string) {
	t.Helper()
	var b strings.Builder
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list, b.String()
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			for _, a := range e.Attr {
				if a.Name.Local == "class" {
					name += " " + a.Value
				}
			}
			list = append(list, name)
		case xml.CharData:
			b.Write(e)
			b.WriteByte('\n')
		}
	}
}

// A row has the name of its call with any characters, a pale bar while it waited, a solid one in
// the colour of its worker while it ran, and a cross if it never ran.
func TestSVG_DrawsARowForEachCall(t *testing.T) {
	p := Picture{Title: `Calls with "<odd>" names`, Tick: time.Second, Unit: 100 * time.Millisecond,
		UnitName: "tenths of a second",
		Groups: []Group{
			{Name: "first & last", Rows: []Row{
				{Label: "<a>", Asked: after(0), Began: after(500), Ended: after(1500),
					Worker: "two"},
				{Label: "b", Asked: after(0), Began: after(0), Ended: after(500), Worker: "one"},
			}},
			{Name: "others", Rows: []Row{{Label: "c", Asked: after(0), Began: after(250),
				Ended: after(250), Note: "queue_full"}}},
		}}
	list, text := elements(t, p.SVG())
	counts := map[string]int{}
	for _, e := range list {
		counts[e]++
	}
	// One bar of each is in the legend; b did not wait.
	for element, want := range map[string]int{"svg": 1, "title": 1, "desc": 1, "rect w0": 3,
		"rect w1": 2, "rect w2": 2, "path refused": 2, "line line": 2} {
		if counts[element] != want {
			t.Errorf("%d × %s, want %d: %q", counts[element], element, want, list)
		}
	}
	for _, want := range []string{
		`Calls with "<odd>" names`, "first & last", "<a>", "runs on worker 2", "fails at " +
			"once", "queue_full", "tenths of a second", "\n10\n",
		"first & last, <a>: asked for at 0, ran from 5 to 15 on worker 2", "others, c: asked for " +
			"at 0, failed at 2.5 with queue_full",
		"@media (prefers-color-scheme:dark)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture does not say %q but\n%s", want, text)
		}
	}
	p.Span = 5 * time.Second
	if longer, _ := elements(t, p.SVG()); len(longer) <= len(list) {
		t.Errorf("the axis of five seconds has no more numbers than that of one and a half: %q",
			longer)
	}
}

// A row shows when the call ran by the duration of the tool if the record has it, not by when the
// server learned of its end. A failed call has no run time.
func TestRowOf_UsesTheDurationOfTheTool(t *testing.T) {
	r := api.Record{CallID: "1.1", Timing: api.Timing{Worker: "w", Closed: after(1000),
		Duration: api.Duration(600 * time.Millisecond)}}
	if got, want := NewRow(r, noon), (Row{Label: "1.1", Asked: noon, Began: after(400),
		Ended: after(1000), Worker: "w"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	r.Phases = map[api.Phase]api.Duration{api.PhaseExecution: api.Duration(500 * time.Millisecond),
		api.PhasePostExecution: api.Duration(time.Millisecond)}
	if got := NewRow(r, noon).Ended; !got.Equal(after(901)) {
		t.Errorf("ended at %s", got)
	}
	r.Error, r.Duration, r.Phases = api.Errorf(api.ErrQueueFull, "the queue is full"), 0, nil
	if got, want := NewRow(r, noon), (Row{Label: "1.1", Asked: noon, Began: after(1000),
		Ended: after(1000), Note: "queue_full"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
