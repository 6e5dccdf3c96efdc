package lanetest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/worker/host"
)

// What the tests tell the worker that they start, by environment.
const (
	// asWorker makes the test program be a worker: an application's own one, with the functions
	// below.
	asWorker = "LANETEST_WORKER"
	// witnessAddress is where its tools reach the witness. Nothing stands between them that a test
	// cuts.
	witnessAddress = "LANETEST_WITNESS"
	// noteFile makes the test program be the program of the tool note, which writes to that file.
	noteFile = "LANETEST_NOTES"
)

// TestMain runs the tests, or the worker that they start as a process of its own.
func TestMain(m *testing.M) {
	if file := os.Getenv(noteFile); file != "" && os.Getenv(asWorker) == "" {
		os.Exit(writeNote(file))
	}
	if os.Getenv(asWorker) == "" {
		os.Exit(m.Run())
	}
	os.Exit(host.Main(host.Config{Functions: []switchyard.Function{
		switchyard.NewFunction("work", work),
		switchyard.NewFunction("stubborn", stubborn),
		switchyard.NewFunction("write", write),
		switchyard.NewFunction("flaky", flaky),
	}}))
}

// order is what a call is told to do; the arguments of all tools here.
type order struct {
	// N comes back as the result, so that a test sees whether each call got its own.
	N int `json:"n"`
	// MS is how long the call takes, in milliseconds, from when its gate opens.
	MS int `json:"ms"`
	// Gate names what the call waits for.
	Gate string `json:"gate"`
	// Key is the key on lanes that have some.
	Key string `json:"key"`
}

func (o order) length() time.Duration { return time.Duration(o.MS) * time.Millisecond }

// begin tells the witness that the call begins.
func (o order) begin(ctx context.Context) (*Caller, error) {
	call, ok := api.ContextOf(ctx)
	if !ok {
		return nil, errors.New("the tool has no call context")
	}
	return Begin(ctx, os.Getenv(witnessAddress), Visit{Tool: call.Tool, Lane: call.Lane,
		Fence: call.Fence, Run: call.WorkflowID,
		Call: call.CallID, Attempt: call.Attempt, PID: os.Getpid(), Gate: o.Gate})
}

// work takes as long as it was told, and stops at once when its context is over.
func work(ctx context.Context, o order) (order, error) {
	c, err := o.begin(ctx)
	if err != nil {
		return o, err
	}
	if err := c.Wait(ctx, o.length(), o.Gate != ""); err != nil {
		return o, errors.Join(err, c.Stopped())
	}
	return o, c.Done()
}

// stubborn does not care about its context.
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

// writePause is how long write waits between its writes.
const writePause = 2 * time.Millisecond

// write writes for as long as it was told to what its lane protects. When its context is over it
// says so at once, and then writes once more all the same, as a program does that had the write
// under way.
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
	return o, errors.Join(context.Cause(ctx), err, c.Stopped())
}

// flaky fails at its first attempt, and asks for the next one after as long as the call would take.
func flaky(ctx context.Context, o order) (order, error) {
	c, err := o.begin(ctx)
	if err != nil {
		return o, err
	}
	if call, _ := api.ContextOf(ctx); call.Attempt == 1 {
		return o, api.Transient(errors.Join(errors.New("not yet"), c.Done()),
			api.Duration(o.length()))
	}
	return o, c.Done()
}
