package inspect

import (
	"context"
	"strings"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"github.com/switchyard/switchyard/starter/internal/terminal"
)

// printSink prints entries: a line for each, or JSON.
type printSink struct{ app *cli.App }

func (s *printSink) name() string { return "standard output" }

func (s *printSink) open(context.Context) (at switchyard.StreamPosition, resumed bool, err error) {
	return at, false, nil
}

func (s *printSink) close() {}

func (s *printSink) write(_ context.Context, b switchyard.StreamBatch) error {
	if s.app.Format.JSON() {
		return cli.WriteJSONLines(s.app.Out, b.Entries)
	}
	p := s.app.PaletteFor(s.app.Out)
	for _, e := range b.Entries {
		var line string
		switch {
		case e.Record != nil:
			line = callLine(p, e.Record)
		case e.Run != nil:
			line = runLine(p, e.Run)
		default:
			continue // reported already
		}
		if err := s.app.Println(line); err != nil {
			return err
		}
	}
	return nil
}

func callLine(p cli.Palette, r *api.Record) string {
	failed := ""
	if r.Error != nil {
		failed = string(r.Error.Type)
	}
	return streamLine(r.Closed, r.WorkflowID, r.CallID, cli.PlainText(r.Tool),
		terminal.CallStatusText(p, r.Status), cli.ShortDuration(r.Duration.Std()), failed)
}

func runLine(p cli.Palette, s *history.Summary) string {
	return streamLine(s.Closed, s.WorkflowID, "run", cli.PlainText(s.Name),
		runlist.RunStatusText(p, s.Status), cli.ShortDuration(s.Closed.Sub(s.Started)),
		string(s.FailureType))
}

// streamLine joins the parts of a line.
func streamLine(at time.Time, run string, parts ...string) string {
	line := append([]string{at.Local().Format(time.TimeOnly), cli.PlainText(run)}, parts...)
	return strings.Join(cli.NonEmpty(line), "  ")
}
