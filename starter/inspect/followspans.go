package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/recordfile"
	"github.com/switchyard/switchyard/audit/traces"
	"github.com/switchyard/switchyard/starter/cli"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.temporal.io/sdk/client"
)

// spanSink sends the spans of runs that have ended by OTLP. After a crash it sends the spans of the
// last batch again, which have the same IDs.
type spanSink struct {
	app      *cli.App
	client   client.Client
	endpoint *traces.Endpoint
	path     string
}

func (s *spanSink) name() string { return s.endpoint.Address() }

func (s *spanSink) open(context.Context) (at switchyard.StreamPosition, resumed bool, err error) {
	return recordfile.ReadPosition(s.path)
}

func (s *spanSink) close() {}

func (s *spanSink) write(ctx context.Context, b switchyard.StreamBatch) error {
	var batch traces.Batch
	for _, e := range b.Entries {
		if e.Run == nil {
			continue
		}
		if err := s.run(ctx, e.Run, &batch); err != nil {
			return err
		}
	}
	if err := s.send(ctx, batch.Take()); err != nil {
		return err
	}
	return recordfile.WritePosition(s.path, b.Position)
}

// run adds the spans of a run to the batch, and sends it when it is full.
func (s *spanSink) run(ctx context.Context, run *history.Summary, batch *traces.Batch) error {
	for span, err := range traces.Read(ctx, s.client, run.WorkflowID, run.Run,
		traces.Options{Alone: true}) {
		switch {
		case audit.IsMissing(err):
			fmt.Fprintf(s.app.Err, "gap: the spans of %s: %s\n", run.WorkflowID,
				cli.OneLine(err.Error()))
			return nil
		case err != nil:
			return err
		}
		if err := s.send(ctx, batch.Add(span)); err != nil {
			return err
		}
	}
	return nil
}

// send sends spans, and goes on while the endpoint does not answer.
func (s *spanSink) send(ctx context.Context, spans []*tracepb.Span) error {
	for len(spans) > 0 {
		trying, cancel := context.WithTimeout(ctx, sendingPatience)
		err := s.endpoint.Send(trying, spans)
		over := errors.Is(trying.Err(), context.DeadlineExceeded)
		cancel()
		if rejected, ok := errors.AsType[traces.RejectedError](err); ok {
			fmt.Fprintf(s.app.Err, "gap: the endpoint has rejected spans: %s\n",
				cli.OneLine(rejected.Error()))
			return nil
		}
		if err == nil || !over || ctx.Err() != nil {
			return err
		}
		fmt.Fprintf(s.app.Err, "%s; trying again since %s\n", cli.OneLine(err.Error()),
			time.Now().UTC().Format(time.TimeOnly))
	}
	return nil
}
