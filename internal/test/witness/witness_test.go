package witness

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// visit starts a call.
func visit(t *testing.T, w *Witness, v Visit) *Caller {
	t.Helper()
	c, err := Begin(t.Context(), w.Address(), v)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A call runs from its start until its last report, or until its connection closes as that of a
// killed process does. A call at a gate continues when the gate opens.
func TestWitness_CountsRunningCalls(t *testing.T) {
	w := Start(t)
	a := visit(t, w, Visit{Lane: "one", Run: "r", Call: "a"})
	b := visit(t, w, Visit{Lane: "one", Run: "r", Call: "b", Gate: "g"})
	c := visit(t, w, Visit{Lane: "one", Run: "r", Call: "c"})
	if err := a.Done(); err != nil {
		t.Fatal(err)
	}
	w.Open("g")
	if err := b.Wait(t.Context(), 0, true); err != nil {
		t.Fatal(err)
	}
	if err := b.ReportStopped(); err != nil {
		t.Fatal(err)
	}
	if err := c.conn.Close(); err != nil {
		t.Fatal(err)
	}
	spans := w.Await(t.Context(), t, "for the closed connection",
		func(s []Span) bool { return s[2].Ending != Running })
	var got []string
	for _, s := range spans {
		if s.Ended <= s.Began {
			t.Errorf("ended before it began: %s", s)
		}
		got = append(got, s.Call+" "+string(s.Ending))
	}
	if want := []string{"a done", "b stopped", "c vanished"}; !slices.Equal(got, want) {
		t.Errorf("the witness saw %q, want %q", got, want)
	}
	if spans[1].Over == 0 || spans[0].Over != 0 {
		t.Errorf("contexts were over at %v and %v", spans[0].Over, spans[1].Over)
	}
	if p := Peaks(spans)["one"]; p != 3 {
		t.Errorf("%d calls at once, want 3", p)
	}
}

// kill -9 of a process ends its calls for the witness.
func TestWitness_NoticesKilledProcesses(t *testing.T) {
	w := Start(t)
	host, port, _ := strings.Cut(w.Address(), ":")
	script := `exec 3<>/dev/tcp/` + host + `/` + port +
		`; echo '{"call":"a","lane":"one"}' >&3; read -r word <&3; exec sleep 60 3>&3`
	cmd := exec.Command("bash", "-c", script)
	if err := cmd.Start(); err != nil {
		t.Skip("no bash: ", err)
	}
	w.Await(t.Context(), t, "for the call", func(s []Span) bool { return len(s) == 1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	w.Await(t.Context(), t, "for its end", func(s []Span) bool { return s[0].Ending == Vanished })
}

// After a newer holder has written, writes of an older one are refused, and those of other lanes
// are not.
func TestWitness_RefusesOldFencingNumbers(t *testing.T) {
	w := Start(t)
	older := visit(t, w, Visit{Lane: "one", Call: "older", Fence: 1})
	newer := visit(t, w, Visit{Lane: "one", Call: "newer", Fence: 2})
	other := visit(t, w, Visit{Lane: "two", Call: "other", Fence: 1})
	for _, test := range []struct {
		caller   *Caller
		accepted bool
	}{{older, true}, {newer, true}, {older, false}, {newer, true}, {other, true}} {
		if ok, err := test.caller.Write(); err != nil || ok != test.accepted {
			t.Errorf("write accepted: %v, %v", ok, err)
		}
	}
	spans, _ := w.Spans()
	if s := spans[0]; s.Written != 1 || s.Refused != 1 {
		t.Errorf("the older one: %s", s)
	}
	for _, c := range []*Caller{older, newer, other} {
		if err := c.Done(); err != nil {
			t.Error(err)
		}
	}
}

// span returns an execution for the checks below.
func span(lane, call string, fence int64, began, ended time.Duration) Span {
	s := Span{Visit: Visit{Lane: lane, Run: "r", Call: call, Fence: fence, PID: 7}, Began: began,
		Ended: ended}
	if ended > 0 {
		s.Ending = Done
	}
	return s
}

// The checks find every fault, also if a call never ended, and report nothing if calls only touch.
func TestWitness_FindsFaults(t *testing.T) {
	limit := func(lane string) int { return map[string]int{"one": 1, "two": 2, "keyed": 1}[lane] }
	tests := []struct {
		name     string
		spans    []Span
		excesses []string
	}{
		{"calls that touch", []Span{span("one", "a", 1, 10, 20), span("one", "b", 1, 20, 30)}, nil},
		{"an overlap", []Span{span("one", "a", 1, 10, 20), span("one", "b", 1, 19, 30)},
			[]string{"lane one, limit 1: 2 calls at once"}},
		{"a call that never ended", []Span{span("one", "a", 1, 10, 0), span("one", "b", 1, 99,
			100)}, []string{"lane one, limit 1: 2 calls"}},
		{"within a limit", []Span{span("two", "a", 1, 10, 20), span("two", "b", 1, 11, 20)}, nil},
		{"one call inside another", []Span{span("two", "a", 1, 10, 50), span("two", "b", 1, 11, 49),
			span("two", "c", 1, 20, 30)}, []string{"lane two, limit 2: 3 calls"}},
		{"keys apart", []Span{span("keyed/x", "a", 1, 10, 20), span("keyed/y", "b", 1, 10, 20)},
			nil},
		{"one key", []Span{span("keyed/x", "a", 1, 10, 20), span("keyed/x", "b", 1, 12, 20)},
			[]string{"lane keyed/x, limit 1: 2 calls"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Excesses(test.spans, limit)
			if len(got) != len(test.excesses) {
				t.Fatalf("accounts: %q", got)
			}
			for i, want := range test.excesses {
				if !strings.HasPrefix(got[i], want) || !strings.Contains(got[i], "a of r") ||
					!strings.Contains(got[i], "pid 7") {
					t.Errorf("account %q, want %q and both calls", got[i], want)
				}
			}
		})
	}
	if got := Regressions([]Span{span("one", "a", 1, 1, 2), span("one", "b", 3, 3, 4),
		span("one", "c", 2, 5, 6), span("two", "d", 1, 7, 8)}); len(got) != 1 ||
		!strings.Contains(got[0], "c of r") {
		t.Errorf("fencing numbers that go back: %q", got)
	}
	if n := len(Executions([]Span{span("one", "a", 1, 1, 2), span("one", "a", 1, 3,
		4)})["r/a"]); n != 2 {
		t.Errorf("%d executions, want 2", n)
	}
}
