package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/worker/host"
)

// serveHand is the argument that makes this program a worker with the hand-written workflows. The
// address of the server follows it.
const serveHand = "serve-hand-written"

// openRuns is the number of runs that a worker has in its cache, each of which waits for a call.
// warmRuns is how many of them are started before the first measurement, so that what a process
// needs once does not count.
const (
	openRuns = 1_000
	warmRuns = 50
)

// serveHandWritten is the main function of a worker with the hand-written workflows.
func serveHandWritten(address string) error {
	corpusOnce()
	specs, err := toolspecs.Decode("tools.yaml", []byte(toolSpecs), toolspecs.Options{})
	if err != nil {
		return err
	}
	// As a worker of ours has one: each run keeps its fields.
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c, err := client.Dial(client.Options{HostPort: address,
		Logger: tlog.NewStructuredLogger(logger)})
	if err != nil {
		return err
	}
	w, err := startHandWritten(c, handAlone, specs)
	if err != nil {
		return err
	}
	defer w.Stop()
	if err := json.NewEncoder(os.Stdout).Encode(host.Info{}); err != nil {
		return err
	}
	reportFootprints(os.Stdin) // until the bench ends
	return nil
}

// measurePipelineMemory compares the memory of a worker's open runs, which wait for a call on a
// queue without workers, with that of as many hand-written agents in a worker with the SDK's
// defaults: the growth of live and of resident memory. It prints that of hand-written workflows
// without a conversation and handlers, too.
func measurePipelineMemory(ctx context.Context, l *lab) (map[string]float64, error) {
	return l.pipelineMemory(ctx, openRuns)
}

func (l *lab) pipelineMemory(ctx context.Context, runs int) (map[string]float64, error) {
	ctx, y, err := newYard(ctx, l, "lanes:\n  unserved: {}\n", "unserved")
	if err != nil {
		return nil, err
	}
	defer y.close()
	ours, err := y.start(api.LaneGeneral)
	if err != nil {
		return nil, err
	}
	waiting := agent(1, turnSize)
	waiting.Tools = []string{"payload_unserved"}
	waiting.Model.Script.Value.Steps[0].Calls[0].Tool = "payload_unserved"
	grown, err := l.growth(ctx, ours, runs, side{yardQueue, api.AgentWorkflow,
		api.RunInput{Agent: waiting, Prompt: "go"}})
	if err != nil {
		return nil, err
	}
	hand, err := y.launch("the hand-written workflows", serveHand, y.address)
	if err != nil {
		return nil, err
	}
	simple, err := l.growth(ctx, hand, runs, side{handAlone, "handAgent",
		handAgentInput{Prompt: "go", Tools: waiting.Tools, MaxTurns: waiting.Limits.Turns,
			MaxCalls: waiting.Limits.Turns}})
	return map[string]float64{"pipeline_memory_ratio": grown / simple}, err
}

// growth starts runs that wait for a call and returns the memory that each adds to the worker, live
// and resident, in bytes.
func (l *lab) growth(ctx context.Context, p *process, runs int, s side) (float64, error) {
	open := func(n int) error {
		return each(ctx, n, runsAtOnce, func(ctx context.Context, _ int) error {
			run, err := l.client.ExecuteWorkflow(ctx,
				client.StartWorkflowOptions{TaskQueue: s.queue}, s.kind, s.input)
			if err != nil {
				return err
			}
			return l.awaitCall(ctx, run, api.TurnCallID(1, 1),
				enumspb.PENDING_ACTIVITY_STATE_SCHEDULED)
		})
	}
	if err := open(warmRuns); err != nil {
		return 0, err
	}
	before, err := p.footprint()
	if err != nil {
		return 0, err
	}
	if err := open(runs); err != nil {
		return 0, err
	}
	after, err := p.footprint()
	live := (float64(after.Live) - float64(before.Live)) / float64(runs)
	resident := (float64(after.Resident) - float64(before.Resident)) / float64(runs)
	fmt.Fprintf(os.Stderr, "  %s: %s; per run %.1f KB live, %.1f KB resident\n", s.kind, after,
		live/1e3, resident/1e3)
	return live + resident, err
}
