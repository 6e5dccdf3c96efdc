package decide

import (
	"errors"
	"testing"

	"github.com/switchyard/switchyard/starter/cli"
)

// What is meant is named by its ID or its path, or is the only one, or has ended already, about
// which the run answers. Nothing is guessed.
func TestPick_FindsWhatIsMeant(t *testing.T) {
	all := []waiting{{"demo", "1.1", ""}, {"demo/1.2", "1.1", ""}, {"demo/1.2", "2.1", ""},
		{"demo/1.3", "2.1", ""}, {"demo/1.2/1.1", "3.1", ""}}
	for _, tt := range []struct {
		name, id string
		all      []waiting
		want     int
		code     int
	}{
		{name: "the run's own", id: "1.1", all: all, want: 0},
		{name: "a sub-agent's", id: "2.1", all: all[:3], want: 2},
		{name: "that of several", id: "2.1", all: all, code: cli.ExitUsage},
		{name: "a path", id: "1.3/2.1", all: all, want: 3},
		{name: "a path below a sub-agent", id: "1.2/1.1/3.1", all: all, want: 4},
		{name: "an unknown path", id: "1.7/2.1", all: all, want: -1},
		{name: "closed", id: "0.1", all: all, want: -1},
		{name: "the only one", all: all[:1], want: 0},
		{name: "the only one of a sub-agent", all: all[1:2], want: 0},
		{name: "none", code: cli.ExitFailed},
		{name: "one of many", all: all, code: cli.ExitUsage},
	} {
		got, err := pick(cli.ParseRun("demo"), tt.all, tt.id, "none")
		own, _ := errors.AsType[*cli.ExitError](err)
		switch {
		case tt.code == 0 && (err != nil || got != tt.want):
			t.Errorf("%s: %d with %v, want %d", tt.name, got, err, tt.want)
		case tt.code != 0 && (own == nil || own.Code != tt.code):
			t.Errorf("%s: %v, want the exit code %d", tt.name, err, tt.code)
		}
	}
}
