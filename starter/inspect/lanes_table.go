package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// laneLine is the state of one lane. Unknown values are nil.
type laneLine struct {
	Lane     string       `json:"lane"`
	Limit    int          `json:"limit,omitempty"`
	Key      string       `json:"key,omitempty"`
	Rate     float64      `json:"rate,omitempty"`
	Strategy api.Strategy `json:"strategy,omitempty"`
	// Keys counts the keys with calls on a worker.
	Keys int `json:"keys,omitempty"`
	// Groups is the number of groups that the slots or keys of a limited lane are divided into,
	// Hosted the number of them that have a worker.
	Groups  int                `json:"groups,omitempty"`
	Hosted  int                `json:"served_groups,omitempty"`
	Holders []lanestate.Holder `json:"holders,omitempty"`
	// Workers serve the lane or are candidates to host its slots.
	Workers []string `json:"workers"`
	// Waiting counts all waiting calls, WaitingAtServer those that no instance host has.
	Waiting         int64  `json:"waiting"`
	WaitingAtServer int64  `json:"waiting_at_server"`
	Running         *int   `json:"running,omitempty"`
	Acquired        *int64 `json:"acquired,omitempty"`
	Rejected        *int64 `json:"rejected,omitempty"`
	TimedOut        *int64 `json:"timed_out,omitempty"`
	Ended           *int64 `json:"ended,omitempty"`
	// WaitAverage and ExecutionAverage cover finished calls.
	WaitAverage      *api.Duration `json:"wait_average,omitempty"`
	ExecutionAverage *api.Duration `json:"execution_average,omitempty"`
}

func (v *lanesView) line(s lanestate.State) laneLine {
	l := laneLine{Lane: s.Lane.Name, Limit: s.Lane.Limit, Key: s.Lane.Key, Rate: s.Lane.Rate,
		Strategy: s.Lane.Strategy, Keys: s.Counts.Keys,
		Groups: len(s.Holders), Hosted: s.ServedGroups(), Holders: s.Holders,
		Workers: append([]string{}, s.Workers...),
		Waiting: s.Queued + int64(s.Counts.Waiting), WaitingAtServer: s.Queued}
	counts, known := s.Counts, s.Served
	if s.Lane.HasLimit() {
		l.Groups = cmp.Or(l.Groups, s.Lane.Holders)
	} else {
		counts, _ = v.findCounts(s.Lane.Name)
		// A lane that no worker counted has had no calls.
		known = v.counts != nil && v.counts.lanes != nil
	}
	if !known {
		return l
	}
	l.Running, l.Acquired, l.Ended = &counts.Running, &counts.Acquired, &counts.Ended
	if s.Lane.HasLimit() {
		l.Rejected, l.TimedOut = &counts.Rejected, &counts.TimedOut
	}
	if counts.Ended > 0 {
		l.WaitAverage, l.ExecutionAverage = average(counts.WaitMicros, counts.Ended),
			average(counts.ExecutionMicros, counts.Ended)
	}
	return l
}

func average(micros, n int64) *api.Duration {
	d := api.Duration(time.Duration(micros/n) * time.Microsecond)
	return &d
}

// notes returns notes about a lane that its line does not show.
func (v *lanesView) notes(s lanestate.State) []string {
	var notes []string
	name := s.Lane.Name
	if len(s.Workers) == 0 && s.ServedGroups() == 0 && name != api.LaneInline {
		notes = append(notes, fmt.Sprintf("no worker serves the lane %s\n  start one: %s",
			name, v.flags.WorkerCommand(v.app.Connection.Invocation(), v.queue, name)))
	}
	return notes
}

// print prints a report as a table or as one JSON document.
func (v *lanesView) print(r lanesReport) error {
	if v.app.Format.JSON() {
		return cli.WriteJSON(v.app.Out, r, false)
	}
	return v.app.Print(v.text(r, v.app.PaletteFor(v.app.Out)))
}

// unknown is shown for values that are unknown or do not apply.
const unknown = "-"

func (v *lanesView) text(r lanesReport, p cli.Palette) string {
	t := cli.Table{Header: []string{"lane", "limit", "key", "holders", "running", "waiting",
		"acquired", "rejected", "timed out", "avg wait", "avg execution"},
		Right: map[int]bool{1: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true,
			10: true}}
	if v.verbose {
		t.Header = append(t.Header, "workers")
	}
	for _, l := range r.Lanes {
		cells := []string{l.Lane, number(l.Limit), l.key(), l.holders(p), shown(l.Running),
			l.formatWaiting(p), shown(l.Acquired), shown(l.Rejected), shown(l.TimedOut),
			duration(l.WaitAverage), duration(l.ExecutionAverage)}
		if v.verbose {
			cells = append(cells, l.workerNames())
		}
		t.Add(cells...)
	}
	text := t.Text(p)
	for _, note := range r.Notes {
		text += p.Warn("! "+note) + "\n"
	}
	return text
}

// number formats a limit; zero means none.
func number(n int) string {
	if n == 0 {
		return unknown
	}
	return strconv.Itoa(n)
}

func shown[T int | int64](n *T) string {
	if n == nil {
		return unknown
	}
	return strconv.FormatInt(int64(*n), 10)
}

func duration(d *api.Duration) string {
	if d == nil {
		return unknown
	}
	return cli.ShortDuration(d.Std())
}

func (l laneLine) key() string {
	switch {
	case l.Key == "":
		return unknown
	case l.Keys == 0:
		return l.Key
	}
	return fmt.Sprintf("%s (%d in use)", l.Key, l.Keys)
}

func (l laneLine) holders(p cli.Palette) string {
	switch text := fmt.Sprintf("%d/%d", l.Hosted, l.Groups); {
	case l.Lane == api.LaneInline:
		return unknown
	case l.Limit == 0 && len(l.Workers) == 0:
		return p.Bad("0 workers")
	case l.Limit == 0:
		return display.Plural(len(l.Workers), "worker")
	case l.Hosted == 0:
		return p.Bad(text)
	case l.Hosted < l.Groups:
		return p.Warn(text)
	default:
		return text
	}
}

func (l laneLine) formatWaiting(p cli.Palette) string {
	switch text := strconv.FormatInt(l.Waiting, 10); {
	case l.Lane == api.LaneInline:
		return unknown
	case l.Waiting > 0:
		return p.Warn(text)
	default:
		return text
	}
}

// workerNames names each hosting worker once, with its number of groups if it hosts several.
func (l laneLine) workerNames() string {
	if l.Limit == 0 {
		return cmp.Or(strings.Join(l.Workers, ", "), unknown)
	}
	groups := map[string]int{}
	var workers []string
	for _, h := range l.Holders {
		if !h.Served {
			continue
		}
		if groups[h.Worker]++; groups[h.Worker] == 1 {
			workers = append(workers, h.Worker)
		}
	}
	slices.Sort(workers)
	for i, w := range workers {
		if groups[w] > 1 {
			workers[i] = fmt.Sprintf("%s ×%d", w, groups[w])
		}
	}
	return cmp.Or(strings.Join(workers, ", "), unknown)
}
