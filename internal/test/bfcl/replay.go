package bfcl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"go.temporal.io/sdk/client"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

// Prefix begins the names of the server's tools as they are imported.
const Prefix = "bfcl_"

// Replay runs cases as agents: each turn of a case is one model step with all calls of the turn.
type Replay struct {
	Client    client.Client
	TaskQueue string
	// Ledger is the file of the server's executions.
	Ledger string
	Cases  []Case
	// AtOnce is the number of runs at the same time.
	AtOnce int
}

// Outcome says how a replayed case ended.
type Outcome string

const (
	// Right: all results, the final state and the executions are the recorded ones.
	Right Outcome = "right"
	// Reported: calls failed, and their records say why. All others are right.
	Reported Outcome = "reported"
	// Wrong: a completed call has another result than the recorded one, or the executions are not
	// those of the records.
	Wrong Outcome = "wrong"
)

// Evaluation is what became of a case.
type Evaluation struct {
	Case    string
	RunID   string
	Outcome Outcome
	// Why is the first deviation.
	Why string
}

// Run replays the cases and returns their evaluations in the same order.
func (r *Replay) Run(ctx context.Context) ([]Evaluation, error) {
	evaluations, failures := make([]Evaluation, len(r.Cases)), make([]error, len(r.Cases))
	free := make(chan struct{}, r.AtOnce)
	var all sync.WaitGroup
	for i, c := range r.Cases {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			evaluations[i], failures[i] = r.one(ctx, c)
		})
	}
	all.Wait()
	return evaluations, errors.Join(failures...)
}

func (r *Replay) one(ctx context.Context, c Case) (Evaluation, error) {
	run, err := r.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: c.ID,
		TaskQueue: r.TaskQueue}, api.AgentWorkflow, api.RunInput{Agent: newAgent(c), Prompt: "Go."})
	if err != nil {
		return Evaluation{}, err
	}
	e := ended{calls: map[string]api.Record{}}
	e.err = run.Get(ctx, &e.result)
	if ctx.Err() != nil {
		return Evaluation{}, fmt.Errorf("%s: %w", c.ID, e.err)
	}
	for record, err := range audit.Records(ctx, r.Client, c.ID, run.GetRunID()) {
		if err != nil {
			return Evaluation{}, fmt.Errorf("%s: %w", c.ID, err)
		}
		e.calls[record.CallID] = record
	}
	entries, err := Entries(r.Ledger)
	if err != nil {
		return Evaluation{}, err
	}
	v := e.evaluate(c, entries)
	v.RunID = run.GetRunID()
	return v, nil
}

// newAgent returns an agent that makes the calls of a case.
func newAgent(c Case) *api.Agent {
	var steps []api.ScriptStep
	for _, turn := range buildTurns(c) {
		step := api.ScriptStep{}
		for _, call := range turn {
			step.Calls = append(step.Calls, api.ScriptCall{Tool: Prefix + call.Tool,
				Arguments: call.Args})
		}
		steps = append(steps, step)
	}
	script := api.Pack(api.Script{Steps: append(steps, api.ScriptStep{Answer: "done"})})
	return &api.Agent{Name: "bfcl", Tools: []string{Prefix + "*"},
		Model:  api.Model{Provider: api.ProviderScripted, Script: &script},
		Limits: api.Limits{Turns: len(steps) + 1}}
}

// place is a call of the agent and its place in the ledger.
type place struct {
	Call
	name string
}

// buildTurns returns the calls of each turn of the agent: load_case, those of the case,
// final_state.
func buildTurns(c Case) [][]place {
	id, _ := json.Marshal(c.ID)
	turns := [][]place{{{Call{Tool: loadCase, Args: fmt.Appendf(nil, `{"id":%s}`, id), Result: id},
		loadCase}}}
	for t, turn := range c.Turns {
		var calls []place
		for i, call := range turn.Calls {
			calls = append(calls, place{call, formatPlace(t, i)})
		}
		turns = append(turns, calls)
	}
	return append(turns, []place{{Call{Tool: finalState, Args: []byte(`{}`),
		Result: c.FinalState}, finalState}})
}

// Entries reads the ledger. A line that is still being written is left out.
func Entries(ledger string) ([]Entry, error) {
	data, err := os.ReadFile(ledger)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var entries []Entry
	for line := range bytes.Lines(data) {
		var e Entry
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s: %w in %q", ledger, err, line)
		}
		entries = append(entries, e)
	}
	return entries, nil
}
