package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The values of --output, --color and --time-format.
const (
	OutputText = "text"
	OutputJSON = "json"

	colorAuto   = "auto"
	ColorNever  = "never"
	colorAlways = "always"

	timeRelative = "relative"
	TimeISO      = "iso"
)

// Format holds the output flags.
type Format struct {
	Output, Color, Time string
}

func (f *Format) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.Output, "output", "o", OutputText,
		"`format` of results: text or json (JSON Lines for lists)")
	flags.StringVar(&f.Color, "color", colorAuto, "`mode` of colored output: auto, never or always")
	flags.StringVar(&f.Time, "time-format", timeRelative, "`format` of times: relative or iso")
}

func (f *Format) check(cmd *cobra.Command) error {
	for _, flag := range []struct {
		name, value string
		allowed     []string
	}{
		{"--output", f.Output, []string{OutputText, OutputJSON}},
		{"--color", f.Color, []string{colorAuto, ColorNever, colorAlways}},
		{"--time-format", f.Time, []string{timeRelative, TimeISO}},
	} {
		if !slices.Contains(flag.allowed, flag.value) {
			return UsageError(cmd, "%s %q is not one of %s", flag.name, flag.value,
				strings.Join(flag.allowed, ", "))
		}
	}
	return nil
}

func (f *Format) JSON() bool { return f.Output == OutputJSON }

// When formats a past time for a table.
func (f *Format) When(t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case f.Time == TimeISO:
		return t.Local().Format(time.RFC3339)
	}
	return ago(now.Sub(t))
}

// ago formats an elapsed duration in one unit.
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

// ShortDuration formats a duration with about three digits: 340µs, 12ms, 1.25s, 2m05s, 3h07m.
func ShortDuration(d time.Duration) string {
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

// WriteJSON writes one value on one line, or indented if indent is set.
func WriteJSON(w io.Writer, value any, indent bool) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if indent {
		e.SetIndent("", "  ")
	}
	return e.Encode(value)
}

// WriteJSONLines writes one value per line.
func WriteJSONLines[T any](w io.Writer, values []T) error {
	for _, value := range values {
		if err := WriteJSON(w, value, false); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) Println(text string) error { return a.Print(text + "\n") }

func (a *App) Print(text string) error {
	_, err := io.WriteString(a.Out, text)
	return err
}
