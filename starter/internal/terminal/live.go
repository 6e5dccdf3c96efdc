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
	"github.com/switchyard/switchyard/starter/cli"
)

// spinnerFrames and spinnerPace define the spinner before open work.
var spinnerFrames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

const spinnerPace = 100 * time.Millisecond

// lastFrame is the time to draw once more before the end, because the library does not erase what
// it draws while it ends.
const lastFrame = 50 * time.Millisecond

// defaultWidth is the assumed width of a terminal that does not report its own.
const defaultWidth = 80

// defaultHeight is the assumed height of a terminal that does not report its own.
const defaultHeight = 24

// minWidth and minHeight are the size of the smallest terminal that is drawn on. The library draws
// nothing on smaller ones.
const minWidth, minHeight = 20, 4

// drawWithin bounds the waits for the library, which stops answering if the terminal takes no more
// output.
const drawWithin = 2 * time.Second

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
	out, _ := cli.OutputFile(w)
	v := &liveView{out: out, tracker: &Tracker{Palette: p, invocation: r},
		ended: make(chan struct{})}
	v.restore = hideControlEcho(v.out)
	return v
}

// start starts drawing and returns when the first frame is on the terminal.
func (v *liveView) start(first frame) {
	screen := &drawingOutput{File: v.out, started: make(chan struct{})}
	width, height := v.size()
	v.program = quietProgram(&liveModel{frame: first, width: width, height: height}, screen, width,
		height)
	go func() {
		defer close(v.ended)
		_, _ = v.program.Run() // an error only means that nothing more is drawn
	}()
	select {
	case <-screen.started:
	case <-v.ended:
	case <-time.After(drawWithin): // the terminal became too small, or takes no output
	}
}

// drawable reports whether a terminal is large enough to draw on. Some, as in CI systems and
// containers, have no columns or rows. Files without a size count as large enough.
func drawable(out io.Writer) bool {
	f, ok := cli.OutputFile(out)
	if !ok {
		return false
	}
	width, height, err := term.GetSize(f.Fd())
	return err != nil || width >= minWidth && height >= minHeight
}

// awaitEnd waits until a program has ended that was told to. It gives up if the terminal takes no
// more output.
func awaitEnd(ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(drawWithin):
	}
}

// quietProgram returns a program that draws a model and does not read from the terminal. Ctrl-C and
// Ctrl-Z keep their meaning, and the terminal mode does not change.
func quietProgram(m tea.Model, out io.Writer, width, height int) *tea.Program {
	return tea.NewProgram(m, tea.WithOutput(out), tea.WithInput(nil), tea.WithoutSignalHandler(),
		tea.WithEnvironment(quietEnvironment()), tea.WithFilter(usableSize),
		tea.WithWindowSize(width, height))
}

// usableSize replaces a window size that is too small to draw on. Parts of the drawing are then
// outside the window.
func usableSize(_ tea.Model, msg tea.Msg) tea.Msg {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		return tea.WindowSizeMsg{Width: max(size.Width, minWidth),
			Height: max(size.Height, minHeight)}
	}
	return msg
}

// drawingOutput is the program's output. started is closed with the first write.
type drawingOutput struct {
	*os.File
	once    sync.Once
	started chan struct{}
}

func (d *drawingOutput) Write(data []byte) (int, error) {
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
	v.tracker.updateRunning(r)
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
		v.send(frame{})
		awaitEnd(v.ended)
	}
	v.restore()
}

// send hands a message to the program. It gives up if the terminal takes no more output.
func (v *liveView) send(msg tea.Msg) {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		v.program.Send(msg)
	}()
	awaitEnd(sent)
}

func (v *liveView) size() (width, height int) { return terminalSize(v.out) }

func terminalSize(f *os.File) (width, height int) {
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
		line = v.tracker.Palette.Visible(line)
		for row := range strings.SplitSeq(ansi.Wrap(line, max(width, minWidth), " "), "\n") {
			if v.isDrawing() {
				v.send(tea.Println(row)())
			} else {
				fmt.Fprintln(v.out, row)
			}
		}
	}
}

// isDrawing reports whether the program draws. It ends early if it loses the terminal.
func (v *liveView) isDrawing() bool {
	select {
	case <-v.ended:
		return false
	default:
		return v.program != nil
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
		v.send(next)
	case t.header != "" || len(t.calls)+len(t.others)+len(t.paused) > 0:
		if drawable(v.out) {
			v.start(next)
		}
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
			return m, tea.Tick(lastFrame, func(time.Time) tea.Msg { return tea.Quit() })
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
	m.frame.tracker.width = max(m.width, minWidth)
	lines := m.frame.tracker.live(time.Now(), string(spinnerFrames[m.turn]), max(m.height-2, 1))
	for i, line := range lines {
		line = m.frame.tracker.Palette.Visible(line)
		lines[i] = ansi.Truncate(line, max(m.width, minWidth), "…")
	}
	if len(lines) == 0 {
		lines = []string{" "} // above an empty frame the library inserts one line too low
	}
	return tea.NewView(strings.Join(lines, "\n"))
}
