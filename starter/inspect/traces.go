package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/traces"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.temporal.io/sdk/client"
)

// sendingPatience bounds the retries of a batch to an unreachable endpoint.
const sendingPatience = 20 * time.Second

func tracesCommand(a *cli.App) *cobra.Command {
	var options traces.Options
	var endpoint, file string
	cmd := &cobra.Command{
		Use: "traces RUN", GroupID: cli.GroupRuns, Short: "Export a run as an OpenTelemetry trace",
		Long: `Creates OpenTelemetry spans from the histories of a run and of the sub-agents below it: one span
per run, model step and call, named by the semantic conventions for generative AI. They are sent by
OTLP over HTTP to --otlp-endpoint or OTEL_EXPORTER_OTLP_ENDPOINT, with the headers of
OTEL_EXPORTER_OTLP_HEADERS. With --file they are written as lines of OTLP JSON.

Trace and span IDs are derived from run and call IDs. Exporting a run again, also by 'starter
records --follow --otlp-endpoint', which exports all runs, produces the same spans.

Spans contain no arguments, results or texts unless --content is set; sensitive values are then
redacted.`,
		Example: `  starter traces demo-1a2b3c4d --otlp-endpoint http://localhost:4318
  starter traces demo-1a2b3c4d --content --file demo.json`,
		Args: cli.Arguments(1, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := traces.NewEndpoint(endpoint)
			switch {
			case endpoint != "" && file != "":
				return cli.UsageError(cmd, "--otlp-endpoint and --file exclude each other")
			case err != nil && file == "":
				return cli.UsageError(cmd, "--otlp-endpoint: %v", err)
			case to == nil && file == "":
				return cli.UsageError(cmd, "no OTLP endpoint: set --otlp-endpoint, "+
					"OTEL_EXPORTER_OTLP_ENDPOINT or --file")
			}
			return a.OnRun(func(ctx context.Context, c client.Client,
				run *cli.RunRef) error {
				spans := traces.Read(ctx, c, run.WorkflowID, run.RunID, options)
				var err error
				if file != "" {
					err = writeSpans(a, file, spans)
				} else {
					err = sendSpans(ctx, a, to, spans)
				}
				return a.LookupError(run.WorkflowID, run.RunID, err)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&endpoint, "otlp-endpoint", "",
		"`URL` of an OTLP collector, such as http://localhost:4318")
	f.StringVar(&file, "file", "", "`file` to write the spans to, as lines of JSON; - is standard output")
	f.BoolVar(&options.Content, "content", false, "include arguments, results and texts, redacted")
	return cmd
}

// writeSpans writes spans to a file.
func writeSpans(a *cli.App, file string, spans iter.Seq2[*tracepb.Span, error]) error {
	n := 0
	write := func(w io.Writer) (err error) {
		n, err = inBatches(a, spans, func(some []*tracepb.Span) error {
			return traces.WriteJSON(w, some)
		})
		return err
	}
	if file == "-" {
		return write(a.Out)
	}
	if err := cli.StreamWhole("--file", file, 0o600, write); err != nil {
		return err
	}
	return tellSpans(a, n, file)
}

// sendSpans sends spans to an endpoint.
func sendSpans(ctx context.Context, a *cli.App, to *traces.Endpoint,
	spans iter.Seq2[*tracepb.Span, error]) error {
	n, err := inBatches(a, spans, func(some []*tracepb.Span) error {
		sending, cancel := context.WithTimeout(ctx, sendingPatience)
		defer cancel()
		if err := to.Send(sending, some); err != nil {
			return cli.Errorf(cli.ExitFailed, "%w\nSending the spans again is safe", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return tellSpans(a, n, to.Address())
}

func tellSpans(a *cli.App, n int, to string) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, map[string]any{"spans": n, "to": to}, false)
	}
	return a.Println(display.Plural(n, "span") + " to " + to)
}

// inBatches yields spans in batches and counts them. It reports that the server has deleted a part
// of a run, unless it has deleted all.
func inBatches(a *cli.App, spans iter.Seq2[*tracepb.Span, error],
	give func([]*tracepb.Span) error) (n int, err error) {
	var batch traces.Batch
	for span, err := range spans {
		if n > 0 && errors.Is(err, audit.ErrNotFound) {
			fmt.Fprintf(a.Err, "the trace is incomplete: %v\n", err)
			break
		}
		if err != nil {
			return n, err
		}
		n++
		if some := batch.Add(span); some != nil {
			if err := give(some); err != nil {
				return n, err
			}
		}
	}
	if some := batch.Take(); len(some) > 0 {
		err = give(some)
	}
	return n, err
}
