package cli

import (
	"bytes"
	"context"
	"testing"

	"github.com/spf13/cobra"
)

func TestVisible_EscapesWhatAffectsATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain text\twith\nlines":             "plain text\twith\nlines",
		"Grüße, 世界 🚀 e\u0301":                 "Grüße, 世界 🚀 e\u0301",
		"line ends\r\nstay":                   "line ends\r\nstay",
		"paid 1\rpaid 9":                      `paid 1\u000dpaid 9`,
		"\x1b[2J\x1b]0;title\a":               `\u001b[2J\u001b]0;title\u0007`,
		"\x1b[31mred\x1b[m":                   `\u001b[31mred\u001b[m`,
		"\x1b]8;;https://a.example\x1b\\link": `\u001b]8;;https://a.example\u001b\link`,
		"\u009b2J\x7f\x00":                    `\u009b2J\u007f\u0000`,
		"bytes \x9b\xff":                      "bytes \ufffd\ufffd",
		"user\u202egpj.exe\u2066\u2029":       `user\u202egpj.exe\u2066\u2029`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("Visible(%q):\n got %q\nwant %q", text, got, want)
		}
	}
}

// Every colour of the palette is in the list of those that pass.
func TestPalette_ColoursStayVisible(t *testing.T) {
	p := Palette{on: true}
	for _, paint := range []func(string) string{p.Good, p.Bad, p.Warn, p.Faint, p.Bold} {
		painted := paint("text")
		if painted == "text" {
			t.Error("the palette does not paint")
		}
		if got := p.Visible(painted); got != painted {
			t.Errorf("got %q, want %q", got, painted)
		}
	}
	if got, want := p.Visible("\x1b[5m\x1b[1mx\x1b[m"), "\\u001b[5m\x1b[1mx\x1b[m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Outputs of every command are written through one writer, also by commands within a command.
func TestProgram_EscapesTheOutputOfCommands(t *testing.T) {
	const hostile = "a\x1b[2J\x1b[1mb\n"
	for color, want := range map[string]string{
		ColorNever:  `a\u001b[2J\u001b[1mb` + "\n",
		colorAlways: `a\u001b[2J` + "\x1b[1mb\n",
	} {
		var out, errs bytes.Buffer
		p := Program{Commands: []func(*App) []*cobra.Command{func(a *App) []*cobra.Command {
			say := &cobra.Command{Use: "say", RunE: func(*cobra.Command, []string) error {
				if err := a.Print(hostile); err != nil {
					return err
				}
				return Errorf(ExitFailed, "wrong \x1b[1m")
			}}
			within := &cobra.Command{Use: "within", RunE: func(cmd *cobra.Command, _ []string) error {
				inner := &App{Stdio: a.Stdio, Run: a.Run}
				return Exit(a.Run(cmd.Context(), inner, []string{"say", "--color", a.Format.Color}))
			}}
			return []*cobra.Command{say, within}
		}}}
		for _, command := range []string{"say", "within"} {
			out.Reset()
			errs.Reset()
			p.Run(context.Background(), []string{command, "--color", color},
				Stdio{Out: &out, Err: &errs})
			if out.String() != want {
				t.Errorf("%s, color %s: got %q, want %q", command, color, out.String(), want)
			}
			if got, want := errs.String(), `starter: wrong \u001b[1m`+"\n"; got != want {
				t.Errorf("%s, color %s: the error is %q, want %q", command, color, got, want)
			}
		}
	}
}
