package interactions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/test/witness"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/worker/host"
)

// Environment variables of the worker processes.
const (
	// ledgerAddress makes the test program a worker and is where its tools reach the ledger.
	ledgerAddress = "INTERACTIONS_LEDGER"
	// witnessAddress is where they reach the witness.
	witnessAddress = "INTERACTIONS_WITNESS"
)

// TestMain runs the tests, or a worker process that they start.
func TestMain(m *testing.M) {
	if os.Getenv(ledgerAddress) == "" {
		os.Exit(m.Run())
	}
	os.Exit(host.Main(host.Config{Functions: []tool.Function{
		tool.NewFunction("act", act),
		tool.NewFunction("act_all", actAll),
		tool.NewFunction("take_back", takeBack),
		tool.NewFunction("was_done", wasDone),
	}, Stateful: []tool.Stateful{
		tool.NewStateful("tally", newTally, tool.NewMethod("add", (*tally).add)),
	}}))
}

// arguments are those of the tools that act.
type arguments struct {
	N  int   `json:"n,omitempty"`
	Ns []int `json:"ns,omitempty"`
	// Ways are how the attempts behave; later ones as the last.
	Ways   []string `json:"ways"`
	MS     int      `json:"ms,omitempty"`
	Place  string   `json:"place"`
	Note   string   `json:"note,omitempty"`
	Amount int      `json:"amount,omitempty"`
}

type receipt struct {
	N int `json:"n"`
}

// act has an effect and returns its number.
func act(ctx context.Context, in arguments) (any, error) {
	way, err := perform(ctx, in, []int{in.N})
	if way == wayBadOutput && err == nil {
		return "no receipt", nil
	}
	return receipt{N: in.N}, err
}

// actAll has an effect for each element.
func actAll(ctx context.Context, in arguments) (any, error) {
	way, err := perform(ctx, in, in.Ns)
	if way == wayBadOutput && err == nil {
		return "no receipts", nil
	}
	return in.Ns, err
}

// tally is a stateful tool: the numbers of the calls that its instance completed.
type tally struct{ numbers []int }

func newTally(context.Context, tool.StartInfo) (*tally, error) { return &tally{}, nil }

func (t *tally) add(ctx context.Context, in arguments) (any, error) {
	way, err := perform(ctx, in, []int{in.N})
	switch {
	case err != nil:
		return nil, err
	case way == wayBadOutput:
		return "no numbers", nil
	}
	t.numbers = append(t.numbers, in.N)
	return slices.Clone(t.numbers), nil
}

func (t *tally) Snapshot(context.Context) ([]byte, error) { return json.Marshal(t.numbers) }

func (t *tally) Restore(_ context.Context, state []byte) error {
	return json.Unmarshal(state, &t.numbers)
}

// perform behaves as an attempt of the call does, and returns the way.
func perform(ctx context.Context, in arguments, numbers []int) (way string, err error) {
	call, ok := callcontext.From(ctx)
	if !ok {
		return "", errors.New("the tool has no call context")
	}
	visit, err := witness.Begin(ctx, os.Getenv(witnessAddress), witness.Visit{Tool: call.Tool,
		Lane: call.Lane, Fence: call.Fence, Run: call.WorkflowID, Call: call.CallID,
		Attempt: call.Attempt, PID: os.Getpid()})
	if err != nil {
		return "", err
	}
	effects := effectsOf(call, in, numbers)
	if err := tell("begin", beginning{Effects: effects, Ways: in.Ways}, &way); err != nil {
		return "", errors.Join(err, visit.ReportStopped())
	}
	if err := behave(ctx, visit, way, time.Duration(in.MS)*time.Millisecond, effects); err != nil {
		return way, errors.Join(err, visit.ReportStopped())
	}
	return way, visit.Done()
}

// effectsOf returns the effects of a call: one for each call of a batch.
func effectsOf(call api.CallContext, in arguments, numbers []int) []effect {
	actor, _ := call.Variables[actorVariable].(string)
	one := effect{Actor: actor, Workflow: call.WorkflowID, Parent: call.ParentCall,
		Call: call.CallID, Tool: call.Tool, Key: call.Key, N: numbers, Amount: in.Amount}
	if len(call.Parts) == 0 {
		return []effect{one}
	}
	var effects []effect
	for _, part := range call.Parts {
		one.Call, one.Key = part.ID, api.IdempotencyKey(call.Run, part.ID)
		one.N, numbers = numbers[:part.Elements], numbers[part.Elements:]
		effects = append(effects, one)
	}
	return effects
}

// behave acts, or not, as the way says.
func behave(ctx context.Context, visit *witness.Caller, way string, length time.Duration,
	effects []effect) error {
	switch way {
	case wayRefuse:
		return errors.New("no")
	case wayFlaky:
		return api.Transient(errors.New("not now"), 0)
	case wayDieBefore:
		return die()
	case wayHangBefore:
		<-ctx.Done()
		return context.Cause(ctx)
	case wayLate:
		if err := visit.Wait(ctx, length, false); err != nil {
			return err
		}
	}
	// A tool that has been stopped does not act.
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := tell("act", effects, nil); err != nil {
		return err
	}
	switch way {
	case waySlow:
		return visit.Wait(ctx, length, false)
	case wayHang:
		<-ctx.Done()
		return context.Cause(ctx)
	case wayPanic:
		if err := visit.Done(); err != nil {
			return err
		}
		panic("the tool panics")
	case wayDie:
		return die()
	}
	return nil
}

// die kills the worker.
func die() error {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return err
	}
	select {}
}

// own are the arguments of the tools that undo and verify.
type own struct {
	Key   string `json:"key"`
	Place string `json:"place"`
	Note  string `json:"note,omitempty"`
}

// takeBack undoes an effect.
func takeBack(_ context.Context, in own) (string, error) {
	if in.Note == noteStays {
		return "", errors.New("it stays")
	}
	return "taken back", tell("undo", in.Key, nil)
}

type verified struct {
	Done    bool     `json:"done"`
	Receipt *receipt `json:"receipt,omitempty"`
}

// wasDone says whether a call took effect.
func wasDone(_ context.Context, in own) (v verified, err error) {
	var n int
	if err := tell("find", in.Key, &n); err != nil {
		return v, err
	}
	if v.Done = n > 0; v.Done {
		v.Receipt = &receipt{N: n}
	}
	return v, nil
}

// tell sends something to the ledger and reads its answer. It does not stop with its call: what has
// left a worker cannot be taken back.
func tell(what string, value, answer any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	resp, err := http.Post(os.Getenv(ledgerAddress)+"/"+what, "application/json",
		bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("tell the ledger: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("the ledger answers %s: %s", resp.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}
