package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The values of --output, --color and --time-format.
const (
	outputText = "text"
	outputJSON = "json"

	colorAuto   = "auto"
	colorNever  = "never"
	colorAlways = "always"

	timeRelative = "relative"
	timeISO      = "iso"
)

// formatFlags say how results are shown.
type formatFlags struct {
	output, color, time string
}

func (f *formatFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.output, "output", "o", outputText, "`format` of results: text or json (JSON Lines where there are many)")
	flags.StringVar(&f.color, "color", colorAuto, "`when` to use colours: auto, never or always")
	flags.StringVar(&f.time, "time-format", timeRelative, "`format` of times in tables: relative or iso")
}

func (f *formatFlags) check(cmd *cobra.Command) error {
	for _, flag := range []struct {
		name, value string
		allowed     []string
	}{
		{"--output", f.output, []string{outputText, outputJSON}},
		{"--color", f.color, []string{colorAuto, colorNever, colorAlways}},
		{"--time-format", f.time, []string{timeRelative, timeISO}},
	} {
		if !slices.Contains(flag.allowed, flag.value) {
			return usageError(cmd, "%s %q is not one of %s", flag.name, flag.value, strings.Join(flag.allowed, ", "))
		}
	}
	return nil
}

func (f *formatFlags) json() bool { return f.output == outputJSON }

// when shows a time of the past in a table.
func (f *formatFlags) when(t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case f.time == timeISO:
		return t.Local().Format(time.RFC3339)
	}
	return ago(now.Sub(t))
}

// ago says how long ago something was, in one unit.
func ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	}
	return fmt.Sprintf("%dd ago", d/(24*time.Hour))
}

// brief shows a duration with about three digits: 340µs, 12ms, 1.25s, 2m05s, 3h07m.
func brief(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

// palette colours text, or leaves it alone.
type palette struct{ on bool }

func (p palette) paint(text string, style lipgloss.Style) string {
	if !p.on || text == "" {
		return text
	}
	return style.Render(text)
}

var (
	styleGood  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	styleBad   = lipgloss.NewStyle().Foreground(lipgloss.Red)
	styleWarn  = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	styleFaint = lipgloss.NewStyle().Faint(true)
	styleBold  = lipgloss.NewStyle().Bold(true)
)

func (p palette) good(s string) string  { return p.paint(s, styleGood) }
func (p palette) bad(s string) string   { return p.paint(s, styleBad) }
func (p palette) warn(s string) string  { return p.paint(s, styleWarn) }
func (p palette) faint(s string) string { return p.paint(s, styleFaint) }
func (p palette) bold(s string) string  { return p.paint(s, styleBold) }

// paletteFor returns the palette for what is written to w.
func (a *app) paletteFor(w io.Writer) palette {
	switch a.format.color {
	case colorAlways:
		return palette{on: true}
	case colorNever:
		return palette{}
	}
	return palette{on: isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// writeJSON writes one value on one line, or indented where indent is set.
func writeJSON(w io.Writer, value any, indent bool) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if indent {
		e.SetIndent("", "  ")
	}
	return e.Encode(value)
}

// writeJSONLines writes each value on a line of its own.
func writeJSONLines[T any](w io.Writer, values []T) error {
	for _, value := range values {
		if err := writeJSON(w, value, false); err != nil {
			return err
		}
	}
	return nil
}

// printBlocks prints each value as show does, with an empty line between two of them, or on a line of its own as JSON. Where
// there are none, people are told so.
func printBlocks[T any](a *app, values []T, none string, show func(T)) error {
	if a.format.json() {
		return writeJSONLines(a.Out, values)
	}
	if len(values) == 0 {
		fmt.Fprintln(a.Err, none)
		return nil
	}
	for i, value := range values {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		show(value)
	}
	return nil
}

func (a *app) println(text string) error { return a.print(text + "\n") }

func (a *app) print(text string) error {
	_, err := io.WriteString(a.Out, text)
	return err
}
