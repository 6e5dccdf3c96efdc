package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

// spinnerFrames and spinnerPace define the spinner before open work.
var spinnerFrames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

const spinnerPace = 100 * time.Millisecond

// LastFrame is the time to draw once more before the end, because the library does not erase what
// it draws while it ends.
const LastFrame = 50 * time.Millisecond

// defaultWidth is the assumed width of a terminal that does not report its own.
const defaultWidth = 80

// defaultHeight is the assumed height of a terminal that does not report its own.
const defaultHeight = 24

// liveView draws the open turn at the bottom of the terminal. Finished lines scroll into normal
// output.
type liveView struct {
	out     *os.File
	tracker *Tracker
	// program is nil until there is something to draw. Lines inserted before its first frame would
	// overwrite the screen above.
	program *tea.Program
	ended   chan struct{}
	// restore restores the terminal's mode.
	restore func()
}

func NewLiveView(w io.Writer, p cli.Palette, r cli.Invocation) *liveView {
	v := &liveView{out: w.(*os.File), tracker: &Tracker{Palette: p, invocation: r},
		ended: make(chan struct{})}
	v.restore = HideControlEcho(v.out)
	return v
}

// start starts drawing and returns when the first frame is on the terminal.
func (v *liveView) start(first frame) {
	screen := &drawing{File: v.out, started: make(chan struct{})}
	width, height := v.size()
	v.program = QuietProgram(&liveModel{frame: first, width: width, height: height}, screen, width,
		height)
	go func() {
		defer close(v.ended)
		_, _ = v.program.Run() // an error only means that nothing more is drawn
	}()
	select {
	case <-screen.started:
	case <-v.ended:
	}
}

// QuietProgram returns a program that draws a model and does not read from the terminal. Ctrl-C and
// Ctrl-Z keep their meaning, and the terminal mode does not change.
func QuietProgram(m tea.Model, out io.Writer, width, height int) *tea.Program {
	return tea.NewProgram(m, tea.WithOutput(out), tea.WithInput(nil), tea.WithoutSignalHandler(),
		tea.WithEnvironment(quietEnvironment()),
		tea.WithWindowSize(width, height))
}

// drawing is the program's output. begun is closed with the first write.
type drawing struct {
	*os.File
	once    sync.Once
	started chan struct{}
}

func (d *drawing) Write(data []byte) (int, error) {
	n, err := d.File.Write(data)
	if strings.TrimSpace(ansi.Strip(string(data))) != "" {
		d.once.Do(func() { close(d.started) })
	}
	return n, err
}

// quietEnvironment prevents the library from querying the terminal. The unread answer would appear
// as typed text.
func quietEnvironment() []string {
	return []string{"TERM=xterm-256color", "SSH_TTY=none", "COLORTERM=" + os.Getenv("COLORTERM")}
}

func (v *liveView) Event(e api.Event) error {
	v.print(v.tracker.event(e)...)
	v.draw()
	return nil
}

func (v *liveView) Pending(r []audit.Running) {
	v.tracker.pending(r)
	v.draw()
}

func (v *liveView) SubAgents(open []audit.RunQuestion, waiting []audit.RunApproval) {
	v.tracker.childQuestions, v.tracker.childApprovals = open, waiting
	v.draw()
}

func (v *liveView) Note(text string) { v.print(v.tracker.Palette.Warn("! ") + text) }

func (v *liveView) Close() {
	v.print(v.tracker.rest(time.Now())...)
	v.tracker.clear()
	if v.program != nil {
		v.draw()
		v.program.Send(frame{})
		<-v.ended
	}
	v.restore()
}

func (v *liveView) size() (width, height int) { return TerminalSize(v.out) }

func TerminalSize(f *os.File) (width, height int) {
	width, height, err := term.GetSize(f.Fd())
	if err != nil || width <= 0 || height <= 0 {
		return defaultWidth, defaultHeight
	}
	return width, height
}

// print writes finished lines above the drawing, row by row: the library scrolls correctly only if
// the inserted lines and the drawing fit the screen together.
func (v *liveView) print(lines ...string) {
	width, _ := v.size()
	for _, line := range lines {
		for row := range strings.SplitSeq(ansi.Wrap(line, width, " "), "\n") {
			if v.program == nil {
				fmt.Fprintln(v.out, row)
			} else {
				v.program.Println(row)
			}
		}
	}
}

// draw sends a copy of the tracker to the program, which draws it until the next one arrives.
func (v *liveView) draw() {
	t := *v.tracker
	t.calls = make([]*callRow, len(v.tracker.calls))
	for i, c := range v.tracker.calls {
		row := *c
		t.calls[i] = &row
	}
	switch next := (frame{tracker: &t}); {
	case v.program != nil:
		v.program.Send(next)
	case t.header != "" || len(t.calls)+len(t.others)+len(t.paused) > 0:
		v.start(next)
	}
}

// frame is the state to draw. Without a tracker the program stops.
type frame struct{ tracker *Tracker }

type spin struct{}

// liveModel draws the newest frame.
type liveModel struct {
	frame         frame
	turn          int
	width, height int
}

func nextSpin() tea.Cmd { return tea.Tick(spinnerPace, func(time.Time) tea.Msg { return spin{} }) }

func (m *liveModel) Init() tea.Cmd { return nextSpin() }

func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case frame:
		m.frame = msg
		if msg.tracker == nil {
			return m, tea.Tick(LastFrame, func(time.Time) tea.Msg { return tea.Quit() })
		}
	case spin:
		m.turn = (m.turn + 1) % len(spinnerFrames)
		return m, nextSpin()
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	}
	return m, nil
}

func (m *liveModel) View() tea.View {
	if m.frame.tracker == nil {
		return tea.NewView("")
	}
	m.frame.tracker.width = max(m.width, 20)
	lines := m.frame.tracker.live(time.Now(), string(spinnerFrames[m.turn]), max(m.height-2, 1))
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, max(m.width, 20), "…")
	}
	if len(lines) == 0 {
		lines = []string{" "} // above an empty frame the library inserts one line too low
	}
	return tea.NewView(strings.Join(lines, "\n"))
}
