package cli

import (
	"io"
	"os"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/term"
)

// Palette colours text, or returns it unchanged.
type Palette struct{ on bool }

func (p Palette) paint(text string, style lipgloss.Style) string {
	if !p.on || text == "" {
		return text
	}
	return style.Render(text)
}

var styleGood = lipgloss.NewStyle().Foreground(lipgloss.Green)

var styleBad = lipgloss.NewStyle().Foreground(lipgloss.Red)

var styleWarn = lipgloss.NewStyle().Foreground(lipgloss.Yellow)

var styleFaint = lipgloss.NewStyle().Faint(true)

var styleBold = lipgloss.NewStyle().Bold(true)

func (p Palette) Good(s string) string { return p.paint(s, styleGood) }

func (p Palette) Bad(s string) string { return p.paint(s, styleBad) }

func (p Palette) Warn(s string) string { return p.paint(s, styleWarn) }

func (p Palette) Faint(s string) string { return p.paint(s, styleFaint) }

func (p Palette) Bold(s string) string { return p.paint(s, styleBold) }

// PaletteFor returns the palette for output to w.
func (a *App) PaletteFor(w io.Writer) Palette {
	switch a.Format.Color {
	case colorAlways:
		return Palette{on: true}
	case ColorNever:
		return Palette{}
	}
	return Palette{on: IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func IsTerminal(w any) bool {
	f, ok := OutputFile(w)
	return ok && term.IsTerminal(f.Fd())
}
