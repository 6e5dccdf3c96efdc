package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/traces"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.temporal.io/sdk/client"
)

// sendingPatience bounds the retries of a batch to an unreachable endpoint.
const sendingPatience = 20 * time.Second

func tracesCommand(a *cli.App) *cobra.Command {
	var s runlist.Selection
	var options traces.Options
	var endpoint, file string
	selecting := pflag.NewFlagSet("selection", pflag.ContinueOnError)
	cmd := &cobra.Command{
		Use: "traces [RUN]", GroupID: cli.GroupRuns, Short: "Export runs as OpenTelemetry traces",
		Long: `Creates OpenTelemetry spans from the histories of a run, or of the selected runs, and of the
sub-agents below them: one span per run, model step and call, named by the semantic conventions
for generative AI. They are sent by OTLP over HTTP to --endpoint or OTEL_EXPORTER_OTLP_ENDPOINT,
with the headers of OTEL_EXPORTER_OTLP_HEADERS. With --file they are written as lines of OTLP
JSON.

Trace and span IDs are derived from run and call IDs. Exporting a run again, also by 'starter
records --follow --otlp-endpoint', produces the same spans.

Spans contain no arguments, results or texts unless --content is set; sensitive values are then
redacted.`,
		Example: `  starter traces demo-1a2b3c4d --endpoint http://localhost:4318
  starter traces --since 24h --agent librarian --endpoint http://localhost:4318
  starter traces demo-1a2b3c4d --content --file demo.json`,
		Args: cli.Arguments(0, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := newTraceSink(a, cmd, endpoint, file)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				if flag := firstChanged(selecting); flag != "" {
					return cli.UsageError(cmd, "--%s selects runs and excludes RUN", flag)
				}
				return traceRun(a, cmd, args, options, to)
			}
			if err := s.Check(cmd); err != nil {
				return err
			}
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				list, err := runlist.Select(ctx, a, c, &s)
				if err != nil {
					return err
				}
				if len(list) == s.Limit {
					fmt.Fprintln(a.Err, runlist.NewestOnly(s.Limit))
				}
				return traceRuns(ctx, a, c, list, options, to)
			})
		},
	}
	s.Add(selecting, 100)
	cmd.Flags().AddFlagSet(selecting)
	f := cmd.Flags()
	f.StringVar(&endpoint, "endpoint", "", "`URL` of an OTLP collector, such as http://localhost:4318")
	f.StringVar(&file, "file", "", "`file` to write the spans to, as lines of JSON; - is standard output")
	f.BoolVar(&options.Content, "content", false, "include arguments, results and texts, redacted")
	return cmd
}

// traceRun exports the run that the argument names.
func traceRun(a *cli.App, cmd *cobra.Command, args []string, o traces.Options,
	to *traceSink) error {
	return a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
		list := []runlist.Run{{ID: run.WorkflowID, RunID: run.RunID}}
		return traceRuns(ctx, a, c, list, o, to)
	})(cmd, args)
}

// firstChanged returns the name of the first given flag. Empty if none was given.
func firstChanged(flags *pflag.FlagSet) (name string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed && name == "" {
			name = f.Name
		}
	})
	return name
}

// traceSink is the destination of spans: an endpoint or a file.
type traceSink struct {
	endpoint *traces.Endpoint
	file     string
	spans    int // how many were sent
	// rejected says which of them the endpoint rejected last; nil for none.
	rejected error
	// unread are the runs whose spans are missing or incomplete.
	unread cli.Unread
}

func newTraceSink(a *cli.App, cmd *cobra.Command, endpoint, file string) (*traceSink, error) {
	if file != "" {
		if endpoint != "" {
			return nil, cli.UsageError(cmd, "--endpoint and --file exclude each other")
		}
		return &traceSink{file: file}, nil
	}
	to, err := traces.NewEndpoint(endpoint)
	if err != nil {
		return nil, cli.UsageError(cmd, "--endpoint: %v", err)
	}
	if to == nil {
		return nil, cli.UsageError(cmd, "no OTLP endpoint: set --endpoint, OTEL_EXPORTER_OTLP_ENDPOINT or --file")
	}
	return &traceSink{endpoint: to}, nil
}

// name returns the sink's display name.
func (s *traceSink) name() string {
	if s.endpoint != nil {
		return s.endpoint.Address()
	}
	return s.file
}

// traceRuns sends the spans of runs and reports runs whose histories are deleted.
func traceRuns(ctx context.Context, a *cli.App, c client.Client, list []runlist.Run,
	o traces.Options, to *traceSink) error {
	if to.endpoint == nil {
		return writeTraces(ctx, a, c, list, o, to)
	}
	give := func(spans []*tracepb.Span) error {
		sending, cancel := context.WithTimeout(ctx, sendingPatience)
		defer cancel()
		err := to.endpoint.Send(sending, spans)
		if rejected, ok := errors.AsType[traces.RejectedError](err); ok {
			to.rejected = rejected
		} else if err != nil {
			return cli.Errorf(cli.ExitFailed, "%w\nSent so far: %s; sending them again is safe", err, display.Plural(to.spans, "span"))
		}
		to.spans += len(spans)
		return nil
	}
	if err := eachSpan(a, list, spansFrom(ctx, c, o), &to.unread, give); err != nil {
		return err
	}
	return tellTraces(a, to, len(list)-len(to.unread))
}

func writeTraces(ctx context.Context, a *cli.App, c client.Client, list []runlist.Run,
	o traces.Options, to *traceSink) error {
	write := func(w io.Writer) error {
		give := func(spans []*tracepb.Span) error {
			to.spans += len(spans)
			return traces.WriteJSON(w, spans)
		}
		return eachSpan(a, list, spansFrom(ctx, c, o), &to.unread, give)
	}
	if to.file == "-" {
		return cmp.Or(write(a.Out), to.unread.Err())
	}
	if err := cli.StreamWhole("--file", to.file, 0o600, write); err != nil {
		return err
	}
	return tellTraces(a, to, len(list)-len(to.unread))
}

// spansFrom returns a function that reads a run's spans from its history.
func spansFrom(ctx context.Context, c client.Client,
	o traces.Options) func(runlist.Run) iter.Seq2[*tracepb.Span, error] {
	return func(run runlist.Run) iter.Seq2[*tracepb.Span, error] {
		return traces.Read(ctx, c, run.ID, run.RunID, o)
	}
}

// eachSpan yields the spans of runs in batches. It reports runs with partly deleted histories and
// yields their remaining spans. It adds unreadable runs to missing. It fails if the only run is
// unreadable or completely deleted.
func eachSpan(a *cli.App, list []runlist.Run,
	spansOf func(runlist.Run) iter.Seq2[*tracepb.Span, error], missing *cli.Unread,
	give func([]*tracepb.Span) error) error {
	var batch traces.Batch
	for _, run := range list {
		some := len(list) > 1
		for span, err := range spansOf(run) {
			if err != nil {
				if err := spansMissing(a, run, err, some, len(list) > 1, missing); err != nil {
					return err
				}
				break
			}
			some = true
			if spans := batch.Add(span); spans != nil {
				if err := give(spans); err != nil {
					return err
				}
			}
		}
	}
	if spans := batch.Take(); len(spans) > 0 {
		return give(spans)
	}
	return nil
}

// spansMissing reports that a run's spans are incomplete, or fails. some: the server may have
// deleted the rest. several: other runs follow if this one cannot be read.
func spansMissing(a *cli.App, run runlist.Run, err error, some, several bool,
	missing *cli.Unread) error {
	switch {
	case some && errors.Is(err, audit.ErrNotFound):
		fmt.Fprintf(a.Err, "run %s is incomplete: %v\n", run.ID, err)
	case !several || !missing.Take(run.ID, run.RunID, err):
		return a.LookupError(run.ID, run.RunID, err)
	}
	return nil
}

func tellTraces(a *cli.App, to *traceSink, runs int) error {
	if to.rejected != nil {
		return cli.Errorf(cli.ExitFailed, "%s rejected spans: %w", to.name(), to.rejected)
	}
	if a.Format.JSON() {
		sent := map[string]any{"runs": runs, "spans": to.spans, "to": to.name()}
		if len(to.unread) > 0 {
			sent["unread"] = to.unread
		}
		return to.unread.Exit(cli.WriteJSON(a.Out, sent, false))
	}
	return cmp.Or(a.Println(fmt.Sprintf("%s of %s to %s", display.Plural(to.spans, "span"), display.Plural(runs, "run"), to.name())), to.unread.Err())
}
