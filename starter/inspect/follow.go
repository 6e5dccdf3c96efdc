package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit/recorddb"
	"github.com/switchyard/switchyard/audit/recordfile"
	"github.com/switchyard/switchyard/audit/traces"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// dsnVariable is the variable with the connection string of PostgreSQL.
const dsnVariable = "SWITCHYARD_POSTGRES_DSN"

// maxStreamPause bounds the pause before a server that does not answer is tried again.
const maxStreamPause = 30 * time.Second

// followFlags are the flags of starter records --follow.
type followFlags struct {
	follow, postgres bool
	// file is that of --file. since is the time of --since; zero if it is not set.
	file  string
	since time.Time
	// otlp is the address of an OTLP endpoint, and position the file with the position of its
	// stream.
	otlp, position string
	endpoint       *traces.Endpoint
}

func (f *followFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.follow, "follow", false,
		"write the records of all runs as they end, until Ctrl-C")
	flags.BoolVar(&f.postgres, "postgres", false, "with --follow: write to the PostgreSQL of "+
		dsnVariable+", or of the PG* variables")
	flags.StringVar(&f.otlp, "otlp-endpoint", "", "with --follow: send the spans of runs that end "+
		"to the OTLP collector at `URL`, such as http://localhost:4318")
	flags.StringVar(&f.position, "position", "",
		"with --otlp-endpoint: `file` that keeps the position")
}

// check rejects flags that do not fit.
func (f *followFlags) check(cmd *cobra.Command) error {
	refused := f.refused(cmd)
	switch {
	case refused != "" && f.follow:
		return cli.UsageError(cmd, "--follow writes the records of all runs; leave out %s", refused)
	case refused != "":
		return cli.UsageError(cmd, "%s needs --follow", refused)
	case !f.follow:
		return nil
	}
	return f.checkSink(cmd)
}

// refused returns the given flags that do not go with --follow, or that need it.
func (f *followFlags) refused(cmd *cobra.Command) string {
	both := []string{"follow", "file", "since"}
	follows := append(both, "postgres", "otlp-endpoint", "position")
	var refused []string
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		fits := slices.Contains(follows, flag.Name) == f.follow || slices.Contains(both, flag.Name)
		if flag.Changed && !fits {
			refused = append(refused, "--"+flag.Name)
		}
	})
	return strings.Join(refused, ", ")
}

// checkSink rejects flags of more than one sink, and impossible values.
func (f *followFlags) checkSink(cmd *cobra.Command) (err error) {
	sinks := slices.DeleteFunc([]bool{f.file != "", f.postgres, f.otlp != ""},
		func(set bool) bool { return !set })
	switch {
	case len(sinks) > 1:
		return cli.UsageError(cmd, "--file, --postgres and --otlp-endpoint exclude each other")
	case f.file != "" && fileKind(f.file) != sealed:
		return cli.UsageError(cmd, "--file %q does not end in .jsonl, which --follow writes",
			f.file)
	case (f.otlp == "") != (f.position == ""):
		return cli.UsageError(cmd, "--otlp-endpoint needs --position, a file for the position")
	case f.otlp == "":
		return nil
	}
	if f.endpoint, err = traces.NewEndpoint(f.otlp); err != nil {
		return cli.UsageError(cmd, "--otlp-endpoint: %v", err)
	}
	return nil
}

// recordSink takes the batches of a stream.
type recordSink interface {
	// open returns the stored position; false if there is none.
	open(ctx context.Context) (switchyard.StreamPosition, bool, error)
	write(ctx context.Context, b switchyard.StreamBatch) error
	close()
	// name is what the sink is called in messages.
	name() string
}

// followRecords writes the entries of the stream to a sink until ctx ends.
func followRecords(ctx context.Context, a *cli.App, c client.Client, f *followFlags) error {
	sink := f.sink(a, c)
	at, resumed, err := sink.open(ctx)
	if err != nil {
		return cli.Errorf(cli.ExitFailed, "%w", err)
	}
	defer sink.close()
	switch {
	case resumed && !f.since.IsZero():
		fmt.Fprintf(a.Err, "--since does not apply: %s has a position\n", sink.name())
	case !resumed:
		at.Closed = f.since
	}
	s := &recordStream{app: a, client: a.Client(c), sink: sink, at: at}
	err = s.follow(ctx)
	if ctx.Err() != nil {
		return nil // the usual end
	}
	return err
}

// recordStream moves entries from the server to a sink.
type recordStream struct {
	app    *cli.App
	client *switchyard.Client
	sink   recordSink
	at     switchyard.StreamPosition
}

// follow goes on after interruptions of the server.
func (s *recordStream) follow(ctx context.Context) error {
	pause := time.Second
	for {
		before := s.at.Closed
		err := s.once(ctx)
		if !errors.Is(err, &switchyard.RequestError{Type: switchyard.ServerUnreachable}) {
			return err
		}
		if s.at.Closed.After(before) {
			pause = time.Second
		}
		fmt.Fprintf(s.app.Err, "the server does not answer; trying again in %s: %s\n", pause,
			cli.OneLine(err.Error()))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, maxStreamPause)
	}
}

func (s *recordStream) once(ctx context.Context) error {
	for b, err := range s.client.FollowAll(ctx, s.at) {
		if err != nil {
			return err
		}
		for _, e := range b.Entries {
			if e.Gap != nil {
				fmt.Fprintln(s.app.Err, "gap: "+gapText(e.Gap))
			}
		}
		if err := s.sink.write(ctx, b); err != nil {
			return cli.Errorf(cli.ExitFailed, "%s: %w", s.sink.name(), err)
		}
		s.at = b.Position
	}
	return nil
}

// gapText describes a gap in one line.
func gapText(g *switchyard.StreamGap) string {
	if g.WorkflowID == "" {
		return fmt.Sprintf("from %s to %s: %s", g.From.Format(time.RFC3339),
			g.To.Format(time.RFC3339), g.Reason)
	}
	return cli.OneLine(g.WorkflowID + ": " + g.Reason)
}

// sink returns the sink that the flags select.
func (f *followFlags) sink(a *cli.App, c client.Client) recordSink {
	switch {
	case f.endpoint != nil:
		return &spanSink{app: a, client: c, endpoint: f.endpoint, path: f.position}
	case f.file != "":
		return &fileSink{path: f.file}
	case f.postgres:
		return &tableSink{app: a}
	}
	if f.since.IsZero() {
		f.since = time.Now().UTC()
	}
	return &printSink{app: a}
}

// printSink prints JSON Lines. It keeps no position.
type printSink struct{ app *cli.App }

func (s *printSink) name() string { return "standard output" }

func (s *printSink) open(context.Context) (at switchyard.StreamPosition, resumed bool, err error) {
	return at, false, nil
}

func (s *printSink) write(_ context.Context, b switchyard.StreamBatch) error {
	return cli.WriteJSONLines(s.app.Out, b.Entries)
}

func (s *printSink) close() {}

// fileSink writes JSON Lines.
type fileSink struct {
	path string
	file *recordfile.File
}

func (s *fileSink) name() string { return s.path }

func (s *fileSink) open(context.Context) (at switchyard.StreamPosition, resumed bool, err error) {
	s.file, at, resumed, err = recordfile.Open(s.path)
	return at, resumed, err
}

func (s *fileSink) write(_ context.Context, b switchyard.StreamBatch) error {
	return s.file.Write(b)
}

func (s *fileSink) close() { _ = s.file.Close() } // every batch is on the disk

// tableSink writes to PostgreSQL.
type tableSink struct {
	app    *cli.App
	tables *recorddb.Tables
}

func (s *tableSink) name() string { return "PostgreSQL" }

func (s *tableSink) open(ctx context.Context) (at switchyard.StreamPosition, resumed bool,
	err error) {
	s.tables, at, resumed, err = recorddb.Open(ctx, os.Getenv(dsnVariable),
		s.app.Connection.ResolvedNamespace, func(err error) {
			fmt.Fprintf(s.app.Err, "PostgreSQL does not answer; trying again: %s\n",
				cli.OneLine(err.Error()))
		})
	return at, resumed, err
}

func (s *tableSink) write(ctx context.Context, b switchyard.StreamBatch) error {
	return s.tables.Write(ctx, b)
}

func (s *tableSink) close() { s.tables.Close() }
