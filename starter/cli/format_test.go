package cli

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/starter/clitest"
)

func TestShortDuration_KeepsThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 340 * time.Microsecond: "340µs",
		12_345 * time.Microsecond: "12ms", 1250 * time.Millisecond: "1.25s",
		42_440 * time.Millisecond: "42.4s", 125 * time.Second: "2m05s", 187 * time.Minute: "3h07m",
	} {
		if got := ShortDuration(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}

func TestWhen_FormatsTimesOfTables(t *testing.T) {
	relative, iso := Format{Time: timeRelative}, Format{Time: TimeISO}
	for ago, want := range map[time.Duration]string{0: "now", 5 * time.Second: "5s ago",
		61 * time.Second: "1m ago", 47 * time.Hour: "47h ago",
		49 * time.Hour: "2d ago"} {
		if got := relative.When(clitest.Noon.Add(-ago), clitest.Noon); got != want {
			t.Errorf("%s: %q, want %q", ago, got, want)
		}
	}
	if got := iso.When(clitest.Noon,
		clitest.Noon); got != clitest.Noon.Local().Format(time.RFC3339) {
		t.Errorf("iso: %q", got)
	}
	if got := iso.When(time.Time{}, clitest.Noon); got != "" {
		t.Errorf("an unknown time: %q", got)
	}
}

// Coloured cells are aligned too, and no line ends in spaces.
func TestTable_AlignsColumns(t *testing.T) {
	tab := Table{Header: []string{"name", "n", "note"}, Right: map[int]bool{1: true}}
	p := Palette{on: true}
	tab.Add(p.Good("ok"), "1", "")
	tab.Add("longer", "1,000", "x")
	want := p.Bold("name") + "        " + p.Bold("n") + "  " + p.Bold("note") + "\n" +
		p.Good("ok") + "          1\n" + "longer  1,000  x\n"
	if got := tab.Text(p); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}
