package e2e

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/coverage"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/test/bfcl"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/worker/host"
	"github.com/switchyard/switchyard/worker/tools"
)

// Environment variables of the worker process that the tests start.
const (
	// asWorker makes the test program a worker: one of an application, with the functions below.
	asWorker = "E2E_WORKER"
	// journalFile is where tools write what they really did, independently of Temporal.
	journalFile = "E2E_JOURNAL"
	// gateFile opens the gate by existing.
	gateFile = "E2E_GATE"
)

// TestMain runs the tests, or the worker process that they start.
func TestMain(m *testing.M) {
	mcpserver.Main()
	bfcl.Main()
	if os.Getenv(asWorker) == "" {
		os.Exit(m.Run())
	}
	code := host.Main(host.Config{Specs: toolspecs.LoadShipped(),
		Functions: append(tools.All(tools.Config{}), slices.Concat(functions(), bookings(),
			payments(), recorded)...), Stateful: stateful(),
		Hooks: hooks()})
	if dir := os.Getenv("GOCOVERDIR"); dir != "" && testing.CoverMode() != "" {
		if err := errors.Join(coverage.WriteMetaDir(dir),
			coverage.WriteCountersDir(dir)); err != nil {
			fmt.Fprintln(os.Stderr, "coverage:", err)
		}
	}
	os.Exit(code)
}

// entry is a line of the journal.
type entry struct {
	Run  string `json:"run"`
	Call string `json:"call"`
	Tool string `json:"tool"`
	Text string `json:"text,omitempty"`
	PID  int    `json:"pid"`
	// Start and End are on the worker process's monotonic clock.
	Start time.Duration `json:"start,omitempty"`
	End   time.Duration `json:"end,omitempty"`
}

// began is the start of the worker's clock.
var began = time.Now()

func write(ctx context.Context, e entry) error {
	call, ok := callcontext.From(ctx)
	if !ok {
		return errors.New("the tool has no call context")
	}
	e.Run, e.Call, e.Tool, e.PID = call.Origin.Run, call.CallID, call.Tool, os.Getpid()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return appendJournal(line)
}

// appendJournal writes one line of JSON.
func appendJournal(line []byte) error {
	file, err := os.OpenFile(os.Getenv(journalFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(append(line, '\n'))
	return err
}

// until returns when the condition holds, or with the cause of the context's end.
func until(ctx context.Context, condition func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

type none struct{}

type textArgs struct {
	Text string `json:"text"`
}

type tickArgs struct {
	MS int `json:"ms"`
}

// meeting writes its text to the journal and waits until the journal has as many lines as the call
// requires.
func meeting(name, text string) tool.Function {
	return tool.NewFunction(name, func(ctx context.Context, in struct {
		Lines int `json:"lines"`
	}) (string, error) {
		if err := write(ctx, entry{Text: text}); err != nil {
			return "", err
		}
		return "met", until(ctx, func() bool {
			journal, err := os.ReadFile(os.Getenv(journalFile))
			return err == nil && strings.Count(string(journal), "\n") >= in.Lines
		})
	})
}

// swallow returns the sizes of its argument and of the run's variables.
func swallow(ctx context.Context, in struct {
	Value json.RawMessage `json:"value"`
}) (string, error) {
	call, ok := callcontext.From(ctx)
	if !ok {
		return "", errors.New("the tool has no call context")
	}
	variables, err := jsonvalue.Encode(call.Variables)
	return fmt.Sprintf("%d and %d", len(in.Value), len(variables)), err
}

// charge writes its mark to the journal and takes a while.
func charge(ctx context.Context, in struct {
	Mark string `json:"mark"`
	MS   int    `json:"ms"`
}) (string, error) {
	if err := write(ctx, entry{Text: in.Mark}); err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-time.After(time.Duration(in.MS) * time.Millisecond):
	}
	return "charged " + in.Mark, nil
}

func functions() []tool.Function {
	return []tool.Function{
		tool.NewFunction("append", func(ctx context.Context, in textArgs) (textArgs, error) {
			return in, write(ctx, entry{Text: in.Text})
		}),
		tool.NewFunction("number", func(ctx context.Context, _ none) (int, error) {
			if err := write(ctx, entry{}); err != nil {
				return 0, err
			}
			journal, err := os.ReadFile(os.Getenv(journalFile))
			return strings.Count(string(journal), "\n"), err
		}),
		tool.NewFunction("produce", func(_ context.Context, in struct {
			Bytes int `json:"bytes"`
		}) (string, error) {
			return strings.Repeat("x", in.Bytes), nil
		}),
		tool.NewFunction("noise", func(ctx context.Context, in struct {
			Bytes int `json:"bytes"`
		}) (string, error) {
			noise := make([]byte, in.Bytes/2)
			_, _ = rand.Read(noise) // never fails
			return hex.EncodeToString(noise), write(ctx, entry{})
		}),
		tool.NewFunction("hold", func(ctx context.Context, _ none) (string, error) {
			if err := write(ctx, entry{}); err != nil {
				return "", err
			}
			return "held", gateOpens(ctx)
		}),
		meeting("meet", ""), meeting("meet_one", "one"), meeting("meet_two", "two"),
		tool.NewFunction("tick", func(ctx context.Context, in tickArgs) (string, error) {
			e := entry{Start: time.Since(began)}
			select {
			case <-ctx.Done():
				return "", context.Cause(ctx)
			case <-time.After(time.Duration(in.MS) * time.Millisecond):
			}
			e.End = time.Since(began)
			return "ticked", write(ctx, e)
		}),
		tool.NewFunction("flaky", func(ctx context.Context, _ none) (string, error) {
			if call, _ := callcontext.From(ctx); call.Attempt == 1 {
				return "", api.Transient(errors.New("not yet"), 0)
			}
			return "now", nil
		}),
		tool.NewFunction("large", func(_ context.Context, in struct {
			Bytes int    `json:"bytes"`
			Text  string `json:"text"`
		}) (string, error) {
			return strings.Repeat(in.Text, in.Bytes/len(in.Text)), nil
		}),
		tool.NewFunction("swallow", swallow),
		tool.NewFunction("charge", charge),
		inquire, inquireAndHost, inquireTwice, appendAll, confess,
		tool.NewFunction("broken", func(context.Context, none) (string, error) {
			return "", errors.New("it is broken")
		}),
	}
}
