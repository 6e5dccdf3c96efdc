package terminal

import (
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// control adds the fields of a message, a pause or another request of a person.
func (p *pairs) control(e api.Event) {
	if e.Sent != nil {
		p.add("by", e.Sent.By)
		p.add("text", display.Shorten(e.Sent.Text, 300))
	}
	if e.Closes != nil {
		p.add("instance", e.Closes.Instance)
		p.add("by", e.Closes.By)
		p.add("reason", display.Shorten(e.Closes.Reason, 300))
	}
	if e.Pause != nil {
		p.add("by", e.Pause.By)
		p.add("reason", display.Shorten(e.Pause.Reason, 300))
	}
}

// controlEvent handles the event of a person's request to the run and returns its line. It ignores
// other events.
func (t *Tracker) controlEvent(e api.Event) []string {
	if e.Sent != nil {
		return []string{t.Palette.Bold("message") + " from " + cli.PlainText(e.Sent.By) + ": " +
			display.Shorten(e.Sent.Text, 300)}
	}
	if e.Closes != nil {
		return []string{t.Palette.Bold("instance "+e.Closes.Instance) + " " +
			cli.PlainText(people.CloseNote(*e.Closes))}
	}
	if e.Pause == nil {
		return nil
	}
	if e.Type == api.EventRunResumed {
		t.paused = ""
		return []string{t.Palette.Bold("resumed") + " by " +
			cli.PlainText(strings.TrimSuffix(e.Pause.By+": "+e.Pause.Reason, ": "))}
	}
	t.paused = people.PauseNote(*e.Pause)
	return nil
}

// pauseLines describe the pause of the run and who requested it.
func (t *Tracker) pauseLines() []string {
	if t.paused == "" {
		return nil
	}
	return []string{t.Palette.Warn("‖ ") + cli.PlainText(t.paused)}
}

// PauseText describes who paused a run, why, and since when.
func PauseText(f *cli.Format, p api.Pause, now time.Time) string {
	text := strings.TrimPrefix(people.PauseNote(p), "paused ")
	if p.Since.IsZero() {
		return cli.PlainText(text)
	}
	return cli.PlainText(text) + ", " + f.When(p.Since, now)
}
