package turn

import (
	"maps"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/batches"
	"github.com/switchyard/switchyard/internal/value/display"
)

// Bounds of the calls that a run keeps for policies: how many, their arguments and results in
// bytes, and the result of one. continuedBytes bounds those that continue-as-new carries.
const (
	maxLogged      = 1000
	maxLoggedBytes = 1 << 20
	maxLoggedCall  = 64 << 10
	continuedBytes = 256 << 10
)

// Log is the calls of a run with their arguments, and with results where rules read them. Its
// entries are not changed, so that admission can read them while the run goes on.
type Log struct {
	// Keep reports whether results are kept; nil keeps none.
	Keep  func() bool
	ended []*api.EarlierCall
	open  map[string]*api.EarlierCall
	bytes int
	// place is that of the last call that has ended.
	place int
}

// begin notes a call that was admitted, in a run that had those labels.
func (l *Log) begin(c api.Call, v api.AdmissionDecision, turn int, at time.Time,
	labels []string) {
	arguments := c.Arguments
	if len(v.Arguments) > 0 {
		arguments = string(v.Arguments)
	}
	if l.open == nil {
		l.open = map[string]*api.EarlierCall{}
	}
	l.open[v.ID] = &api.EarlierCall{ID: v.ID, Tool: c.Tool, Arguments: arguments,
		Status: api.CallRunning, Turn: turn, Time: at, RunLabels: labels, After: l.place,
		Batch: v.Batch}
}

// duplicate returns a copy of an entry without what workers computed from it.
func duplicate(c *api.EarlierCall) *api.EarlierCall {
	return &api.EarlierCall{ID: c.ID, Tool: c.Tool, Arguments: c.Arguments, Status: c.Status,
		Turn: c.Turn, Time: c.Time, Labels: c.Labels, RunLabels: c.RunLabels, After: c.After,
		Batch: c.Batch}
}

// change replaces the arguments of a call that a person changed.
func (l *Log) change(id string, arguments []byte) {
	if c := l.open[id]; c != nil && c.Arguments != string(arguments) {
		l.open[id] = duplicate(c)
		l.open[id].Arguments = string(arguments)
	}
}

// take returns an entry for the end of a call, and forgets the open call. Calls that the run itself
// makes were not noted at their beginning.
func (l *Log) take(id, tool string, labels []string) *api.EarlierCall {
	c := l.open[id]
	delete(l.open, id)
	l.place++
	if c == nil {
		return &api.EarlierCall{ID: id, Tool: tool, Turn: api.CallTurn(id), RunLabels: labels,
			Place: l.place, After: l.place - 1, Unknown: true}
	}
	c = duplicate(c)
	c.Place = l.place
	return c
}

// label adds labels to the result of an open call.
func (l *Log) label(id string, labels []string) {
	if c := l.open[id]; c != nil {
		l.open[id] = duplicate(c)
		l.open[id].Labels = union(c.Labels, labels)
	}
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, label := range b {
		if !slices.Contains(all, label) {
			all = append(all, label)
		}
	}
	return all
}

// refuse notes a call that was not executed.
func (l *Log) refuse(c api.Call) {
	entry := l.take(c.ID, c.Tool, nil)
	entry.Status, entry.Labels = api.CallRefused, nil
	if entry.Arguments == "" {
		entry.Arguments = c.Arguments
	}
	l.add(entry)
}

// end notes the end of a call that was let through, in a run that has those labels. The outcome of
// a batch is that of its first call, in whose place it was made.
func (l *Log) end(out api.CallOutcome, emitted, labels []string) {
	entry := l.take(out.ID, out.Tool, labels)
	if out.Result != nil && len(out.Result.Parts) > 0 {
		out = batches.Part(out, out.ID)
	}
	entry.Status, entry.Labels = api.CallCompleted, union(entry.Labels, emitted)
	if out.Error != nil {
		entry.Status = api.CallFailed
	}
	switch {
	case l.Keep == nil || !l.Keep():
		entry.NotKept = true
	case out.Error != nil:
		entry.Text = display.Shorten(out.Error.Message, maxLoggedCall)
	case out.Result == nil:
	case len(out.Result.Output) > maxLoggedCall:
		entry.Text = display.Shorten(string(out.Result.Output), maxLoggedCall)
	default:
		entry.Result = out.Result.Output
	}
	l.add(entry)
}

func (l *Log) add(c *api.EarlierCall) {
	if len(c.Arguments) > maxLoggedCall {
		c.Arguments, c.Unknown = "", true // which rules then cannot read
	}
	l.ended = append(l.ended, c)
	l.bytes += c.Size()
	for len(l.ended) > maxLogged || l.bytes > maxLoggedBytes {
		l.bytes -= l.ended[0].Size()
		l.ended = l.ended[1:]
	}
}

// Calls returns the calls, those that run last, without the call of that ID.
func (l *Log) Calls(except string) []*api.EarlierCall {
	calls := slices.Clip(l.ended)
	for _, id := range slices.Sorted(maps.Keys(l.open)) {
		if id != except {
			calls = append(calls, l.open[id])
		}
	}
	return calls
}

// ContinueCalls returns the newest calls, as far as continue-as-new carries them; nil if results
// are
// not kept.
func (l *Log) ContinueCalls() *api.Packed[[]*api.EarlierCall] {
	if l.Keep == nil || !l.Keep() {
		return nil
	}
	from, size := len(l.ended), 0
	for from > 0 && size+l.ended[from-1].Size() <= continuedBytes {
		from--
		size += l.ended[from].Size()
	}
	if from == len(l.ended) {
		return nil
	}
	packed := api.Pack(slices.Clone(l.ended[from:]))
	return &packed
}

// resume takes over the calls of the execution before.
func (l *Log) resume(calls *api.Packed[[]*api.EarlierCall]) {
	if calls == nil {
		return
	}
	for _, c := range calls.Value {
		l.add(c)
		l.place = c.Place
	}
}
