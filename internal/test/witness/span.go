package witness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// String describes an execution in one line.
func (s Span) String() string {
	end := "still runs"
	if s.Ending != Running {
		end = fmt.Sprintf("%s %s", s.Ending, At(s.Ended))
	}
	text := fmt.Sprintf("%s of %s, attempt %d, on %s: pid %d, fence %d, began %s, %s", s.Call,
		s.Run, s.Attempt, s.Lane, s.PID, s.Fence, At(s.Began), end)
	if s.Over > 0 {
		text += ", context over " + At(s.Over)
	}
	if s.Written+s.Refused > 0 {
		text += fmt.Sprintf(", %d writes accepted, %d refused", s.Written, s.Refused)
	}
	return text
}

// At formats a time on the witness's clock.
func At(t time.Duration) string { return fmt.Sprintf("%.4fs", t.Seconds()) }

// Name returns a lane without the part of a key.
func Name(lane string) string {
	name, _, _ := strings.Cut(lane, "/")
	return name
}

// byLane returns the spans of each lane; for a keyed one, of each key.
func byLane(spans []Span) map[string][]Span {
	lanes := map[string][]Span{}
	for _, s := range spans {
		lanes[s.Lane] = append(lanes[s.Lane], s)
	}
	return lanes
}

// selectRunning returns the spans that ran at a time.
func selectRunning(spans []Span, t time.Duration) []Span {
	var running []Span
	for _, s := range spans {
		if s.Began <= t && (s.Ending == Running || t < s.Ended) {
			running = append(running, s)
		}
	}
	return running
}

// Excesses describes every moment at which a call started on a lane that was at its limit. limit
// returns the limit of a lane, or of a key of a keyed lane, by the lane's name; a negative one
// means none.
func Excesses(spans []Span, limit func(lane string) int) []string {
	var accounts []string
	lanes := byLane(spans)
	for _, lane := range slices.Sorted(maps.Keys(lanes)) {
		most := limit(Name(lane))
		for _, s := range lanes[lane] {
			if running := selectRunning(lanes[lane], s.Began); most >= 0 && len(running) > most {
				accounts = append(accounts,
					fmt.Sprintf("lane %s, limit %d: %d calls at once at %s:\n%s", lane, most,
						len(running), At(s.Began), List(running)))
			}
		}
	}
	return accounts
}

// Peaks returns the most calls that each lane, or key, ran at once.
func Peaks(spans []Span) map[string]int {
	peaks := map[string]int{}
	for lane, own := range byLane(spans) {
		for _, s := range own {
			peaks[lane] = max(peaks[lane], len(selectRunning(own, s.Began)))
		}
	}
	return peaks
}

// Regressions describes every call that started on a lane with a lower fencing number than an
// earlier call. Only keys and lanes with one holder at a time count up.
func Regressions(spans []Span) []string {
	var accounts []string
	lanes := byLane(spans)
	for _, lane := range slices.Sorted(maps.Keys(lanes)) {
		newest := lanes[lane][0]
		for _, s := range lanes[lane] {
			if s.Fence < newest.Fence {
				accounts = append(accounts,
					fmt.Sprintf("lane %s: an older holder's call began after a newer one's:\n%s",
						lane, List([]Span{newest, s})))
			}
			if s.Fence >= newest.Fence {
				newest = s
			}
		}
	}
	return accounts
}

// Executions returns every execution of each call, by Span.Key.
func Executions(spans []Span) map[string][]Span {
	calls := map[string][]Span{}
	for _, s := range spans {
		calls[s.Key()] = append(calls[s.Key()], s)
	}
	return calls
}

// List returns the spans, one a line.
func List(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString("    " + s.String() + "\n")
	}
	return b.String()
}
