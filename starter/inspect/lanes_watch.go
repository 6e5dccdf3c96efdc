package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
)

// watch shows the lanes repeatedly until ctx is cancelled or the server is unreachable for too
// long.
func (v *lanesView) watch(ctx context.Context, interval time.Duration) error {
	show, end := v.print, func() {}
	switch {
	case v.app.Format.JSON():
	case cli.IsTerminal(v.app.Out) && terminal.Drawable(v.app.Out):
		screen := newLanesScreen(v)
		show, end = screen.show, screen.close
	default:
		show = v.printNext()
	}
	defer end()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	w := &laneWatching{view: v, show: show}
	for {
		if err := w.look(ctx); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return cli.Exit(cli.ExitCancelled)
		}
	}
}

// printNext returns a function that prints each table below the previous one.
func (v *lanesView) printNext() func(lanesReport) error {
	between := ""
	return func(r lanesReport) error {
		text := between + v.text(r, v.app.PaletteFor(v.app.Out))
		between = "\n"
		return v.app.Print(text)
	}
}

// laneWatching is the state of repeated reads.
type laneWatching struct {
	view *lanesView
	show func(lanesReport) error
	// last is the latest report. missing is the time since which the server has not answered.
	last    lanesReport
	missing time.Time
}

// look reads the lanes. If the server does not answer, it shows the latest report with a note.
func (w *laneWatching) look(ctx context.Context) error {
	openQuestions, cancel := context.WithTimeout(ctx, cli.ReportTimeout)
	defer cancel()
	report, err := w.view.read(openQuestions)
	return w.take(ctx, report, err)
}

// take shows a report.
func (w *laneWatching) take(ctx context.Context, report lanesReport, err error) error {
	switch {
	case err == nil:
		w.last, w.missing = report, time.Time{}
		return w.show(report)
	case ctx.Err() != nil:
		return cli.Exit(cli.ExitCancelled)
	case !cli.Unreachable(err):
		return err
	case w.missing.IsZero():
		w.missing = time.Now()
	case time.Since(w.missing) > cli.GiveUpAfter:
		return err
	}
	stale := w.last
	stale.Notes = append([]string{fmt.Sprintf("the server does not answer; waiting up to %s",
		cli.GiveUpAfter)}, w.last.Notes...)
	return w.show(stale)
}

// lanesScreen draws the latest table at the bottom of a terminal.
type lanesScreen struct {
	view    *lanesView
	out     *os.File
	last    *lanesReport
	program *tea.Program
	ended   chan struct{}
	restore func()
}

func newLanesScreen(v *lanesView) *lanesScreen {
	out, _ := cli.OutputFile(v.app.Out)
	return &lanesScreen{view: v, out: out, ended: make(chan struct{}),
		restore: terminal.HideControlEcho(out)}
}

func (s *lanesScreen) show(r lanesReport) error {
	s.last = &r
	p := s.view.app.PaletteFor(s.out)
	text := lanesText{strings.TrimSuffix(p.Visible(s.view.text(r, p)), "\n")}
	if s.program != nil {
		s.program.Send(text)
		return nil
	}
	width, height := terminal.TerminalSize(s.out)
	s.program = terminal.QuietProgram(&lanesModel{lanesText: text, width: width, height: height},
		s.out, width, height)
	go func() {
		defer close(s.ended)
		_, _ = s.program.Run() // an error only means that nothing more is drawn
	}()
	return nil
}

// close stops drawing and leaves the complete last table on the screen.
func (s *lanesScreen) close() {
	defer s.restore()
	if s.program == nil {
		return
	}
	s.program.Send(lanesText{})
	terminal.AwaitEnd(s.ended)
	if err := s.view.print(*s.last); err != nil && !errors.Is(err, os.ErrClosed) {
		fmt.Fprintln(s.view.app.Err, "starter:", err)
	}
}

// lanesText is the table to draw. An empty one stops drawing.
type lanesText struct{ text string }

// lanesModel draws as much of the latest table as fits.
type lanesModel struct {
	lanesText
	width, height int
}

// Init implements tea.Model.
func (m *lanesModel) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *lanesModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case lanesText:
		m.lanesText = msg
		if msg.text == "" {
			return m, tea.Tick(terminal.LastFrame, func(time.Time) tea.Msg { return tea.Quit() })
		}
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	}
	return m, nil
}

// View implements tea.Model.
func (m *lanesModel) View() tea.View {
	lines := strings.Split(m.text, "\n")
	if height := max(m.height-1, 1); len(lines) > height {
		lines = append(lines[:height-1], fmt.Sprintf("… %d more lines", len(lines)-height+1))
	}
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, max(m.width, 20), "…")
	}
	return tea.NewView(strings.Join(lines, "\n"))
}
