package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
)

// counter is the stateful tool of these tests: its state is a number, and it writes everything it
// does to the journal.
type counter struct {
	info tool.StartInfo
	n    int
}

// Texts that a counter writes to the journal.
const (
	wroteMade     = "made"
	wroteClosed   = "closed"
	wroteAsked    = "asked"
	wroteAdded    = "added"
	wroteRestored = "restored"
)

// write writes what an instance does outside of calls to the journal.
func (c *counter) write(text string) error {
	line, err := json.Marshal(entry{Run: c.info.Run, Tool: c.info.Instance, Text: text,
		PID: os.Getpid()})
	if err != nil {
		return err
	}
	return appendJournal(line)
}

func newCounter(ctx context.Context, info tool.StartInfo) (*counter, error) {
	c := &counter{info: info}
	if err := c.write(wroteMade); err != nil {
		return nil, err
	}
	switch info.Instance {
	case "late_counter":
		return c, gateOpens(ctx)
	case "no_counter":
		return nil, errors.New("there is no such counter")
	}
	return c, nil
}

type addArgs struct {
	By int `json:"by"`
	// Gate is before or after: the call waits for the gate before or after it takes effect.
	Gate string `json:"gate,omitempty"`
}

// Add adds to the number and returns it, unless its context says that the instance no longer
// belongs to the run.
func (c *counter) Add(ctx context.Context, in addArgs) (int, error) {
	if in.Gate == "before" {
		if err := errors.Join(write(ctx, entry{Text: wroteAsked}), gateOpens(ctx)); err != nil {
			return 0, err
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if in.By < 0 {
		return 0, errors.New("it does not count down")
	}
	c.n += in.By
	call, _ := callcontext.From(ctx)
	if err := write(ctx, entry{Text: fmt.Sprint(wroteAdded, " as ", call.Generation)}); err != nil {
		return 0, err
	}
	if in.Gate == "after" {
		return c.n, gateOpens(ctx)
	}
	return c.n, nil
}

func (c *counter) Close() error { return c.write(wroteClosed) }

func gateOpens(ctx context.Context) error {
	return until(ctx, func() bool { _, err := os.Stat(os.Getenv(gateFile)); return err == nil })
}

// keptCounter is a counter that can be rebuilt.
type snapshotCounter struct{ counter }

func newSnapshotCounter(ctx context.Context, info tool.StartInfo) (*snapshotCounter, error) {
	c, err := newCounter(ctx, info)
	if err != nil {
		return nil, err
	}
	return &snapshotCounter{*c}, nil
}

func (c *snapshotCounter) Add(ctx context.Context, in addArgs) (int, error) {
	return c.counter.Add(ctx, in)
}

// Value returns the number.
func (c *snapshotCounter) Value(context.Context, struct{}) (int, error) { return c.n, nil }

// Snapshot implements tool.Snapshotter.
func (c *snapshotCounter) Snapshot(context.Context) ([]byte, error) { return json.Marshal(c.n) }

// Restore implements tool.Snapshotter.
func (c *snapshotCounter) Restore(_ context.Context, state []byte) error {
	return errors.Join(json.Unmarshal(state, &c.n), c.write(wroteRestored))
}

func stateful() []tool.Stateful {
	return []tool.Stateful{
		tool.NewStateful("counter", newCounter, tool.NewMethod("add", (*counter).Add)),
		tool.NewStateful("snapshot_counter", newSnapshotCounter,
			tool.NewMethod("add", (*snapshotCounter).Add)),
		tool.NewStateful("counter_methods", newSnapshotCounter,
			tool.NewMethod("add", (*snapshotCounter).Add),
			tool.NewMethod("value", (*snapshotCounter).Value)),
	}
}
