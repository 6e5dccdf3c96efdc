package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/cli"
)

// A followed run shows who paused it while it is paused, and one line for each message and each end
// of a pause. In a log, each of them is a line.
func TestPauses_AreShown(t *testing.T) {
	view := &Tracker{}
	var done, logged []string
	show := func(e api.Event) {
		done = append(done, view.event(e)...)
		line := plainLine(e, cli.Invocation{})
		logged = append(logged, line[strings.Index(line, " ")+1:])
	}
	pause := &api.Pause{By: "ada", Reason: "a look"}
	show(api.Event{Type: api.EventRunPaused, Pause: pause})
	show(api.Event{Type: api.EventMessageSent, Sent: &api.Sent{Text: "go\non", By: "ada"}})
	lines := strings.Join(view.live(time.Time{}, "*", 10), "|")
	if want := "‖ paused by ada: a look"; lines != want {
		t.Errorf("while it is paused:\n got %q\nwant %q", lines, want)
	}
	show(api.Event{Type: api.EventRunResumed, Pause: pause})
	if lines := view.live(time.Time{}, "*", 10); len(lines) > 0 {
		t.Errorf("after it is resumed: %q", lines)
	}
	if got := strings.Join(done,
		"|"); got != "message from ada: go on|resumed by ada: a look" {
		t.Errorf("for good: %q", got)
	}
	if got := strings.Join(logged,
		"|"); got != `0 run_paused by=ada reason="a look"|0 message_sent by=ada text="go on"|`+
		`0 run_resumed by=ada reason="a look"` {
		t.Errorf("in a log: %q", got)
	}
}
