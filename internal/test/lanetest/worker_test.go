package lanetest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/test/witness"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/worker/host"
)

// Environment variables of the worker process that the tests start.
const (
	// asWorker makes the test program a worker: one of an application, with the functions below.
	asWorker = "LANETEST_WORKER"
	// witnessAddress is where tools reach the witness, without a proxy between them.
	witnessAddress = "LANETEST_WITNESS"
	// noteFolder makes the test program the program of the tool note, which writes a file there.
	noteFolder = "LANETEST_NOTES"
)

// TestMain runs the tests, or the worker process that they start.
func TestMain(m *testing.M) {
	if code, ok := toolMain(); ok {
		os.Exit(code)
	}
	if os.Getenv(asWorker) == "" {
		os.Exit(m.Run())
	}
	os.Exit(host.Main(host.Config{Functions: []tool.Function{
		tool.NewFunction("work", work),
		tool.NewFunction("stubborn", stubborn),
		tool.NewFunction("write", write),
		tool.NewFunction("flaky", flaky),
		tool.NewFunction("pay", pay),
	}, Stateful: []tool.Stateful{
		tool.NewStateful("journal", newJournal, tool.NewMethod("add", (*journal).add)),
	}}))
}

// order has the arguments of all tools here.
type order struct {
	// N is returned as the result, so that a test sees whether each call got its own.
	N int `json:"n"`
	// MS is the duration of the call in milliseconds, from when its gate opens.
	MS int `json:"ms"`
	// Gate names the gate at which the call waits.
	Gate string `json:"gate"`
	// Key is the key on keyed lanes.
	Key string `json:"key"`
}

func (o order) length() time.Duration { return time.Duration(o.MS) * time.Millisecond }

// begin reports the start of the call to the witness.
func (o order) begin(ctx context.Context) (*witness.Caller, error) {
	call, ok := callcontext.From(ctx)
	if !ok {
		return nil, errors.New("the tool has no call context")
	}
	return witness.Begin(ctx, os.Getenv(witnessAddress), witness.Visit{Tool: call.Tool,
		Lane: call.Lane, Fence: call.Fence, Run: call.WorkflowID,
		Call: call.CallID, Attempt: call.Attempt, PID: os.Getpid(), Gate: o.Gate})
}

// work takes the time of its order and stops at once when its context ends.
func work(ctx context.Context, o order) (order, error) {
	c, err := o.begin(ctx)
	if err != nil {
		return o, err
	}
	if err := c.Wait(ctx, o.length(), o.Gate != ""); err != nil {
		return o, errors.Join(err, c.ReportStopped())
	}
	return o, c.Done()
}

// stubborn ignores the end of its context.
func stubborn(ctx context.Context, o order) (order, error) {
	c, err := o.begin(ctx)
	if err != nil {
		return o, err
	}
	if err := c.Wait(context.WithoutCancel(ctx), o.length(), o.Gate != ""); err != nil {
		return o, err
	}
	return o, c.Done()
}

// writePause is the pause of write between its writes.
const writePause = 2 * time.Millisecond

// write writes to the resource that its lane protects for the time of its order. When its context
// ends, it reports that and writes once more, as a program with a pending write does.
func write(ctx context.Context, o order) (order, error) {
	c, err := o.begin(ctx)
	if err != nil {
		return o, err
	}
	tick := time.NewTicker(writePause)
	defer tick.Stop()
	end := time.NewTimer(o.length())
	defer end.Stop()
	for ctx.Err() == nil {
		if _, err := c.Write(); err != nil {
			return o, err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-end.C:
			return o, c.Done()
		}
	}
	c.Over()
	_, err = c.Write()
	return o, errors.Join(context.Cause(ctx), err, c.ReportStopped())
}

// flaky fails at its first attempt and requests the next one after the time of its order.
func flaky(ctx context.Context, o order) (order, error) {
	c, err := o.begin(ctx)
	if err != nil {
		return o, err
	}
	if call, _ := callcontext.From(ctx); call.Attempt == 1 {
		return o, api.Transient(errors.Join(errors.New("not yet"), c.Done()),
			api.Duration(o.length()))
	}
	return o, c.Done()
}
