package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/switchyard/switchyard/internal/value/display"
)

// Visible escapes the characters of a text that affect a terminal or the direction of text, as in
// JSON strings: \u001b. Line ends and tabs stay. Bytes that are not UTF-8 become U+FFFD.
func Visible(text string) string { return visible(text, false) }

// visible is Visible. With painted, the colours of Palette stay too.
func visible(text string, painted bool) string {
	if isVisible(text) {
		return text
	}
	var b strings.Builder
	for text != "" {
		size := harmless(text, painted)
		if size > 0 {
			b.WriteString(text[:size])
		} else {
			size = 1 + strings.IndexAny(text[1:]+"\r", "\r\x1b")
			b.WriteString(escapeHidden(text[:size]))
		}
		text = text[size:]
	}
	return b.String()
}

// escapeHidden escapes the hidden characters of a text other than line ends and tabs.
func escapeHidden(text string) string {
	valid := strings.Map(func(r rune) rune { return r }, text) // each other byte becomes U+FFFD
	return display.ReplaceHidden(valid, "\n\t", func(r rune) string { return fmt.Sprintf(`\u%04x`, r) })
}

// isVisible reports whether a text has nothing to escape. It allows ASCII only, and no carriage
// returns.
func isVisible(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\n' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

// harmless returns the length of the controls at the start of the text that are not escaped: CRLF,
// and colours of Palette.
func harmless(text string, painted bool) int {
	switch {
	case strings.HasPrefix(text, "\r\n"):
		return 2
	case painted && text[0] == '\x1b':
		return colourSize(text)
	}
	return 0
}

// colours are the escape sequences that Palette writes.
var colours = []string{"\x1b[m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"}

func colourSize(text string) int {
	for _, c := range colours {
		if strings.HasPrefix(text, c) {
			return len(c)
		}
	}
	return 0
}

// visibleWriter is the output of a command. Texts of tools and models cannot affect the terminal
// that shows it. A Write must not end within a character.
type visibleWriter struct {
	to  io.Writer
	app *App
}

// visibleTo returns the output to w for an invocation. The result is nil if w is.
func visibleTo(w io.Writer, a *App) io.Writer {
	if v, ok := w.(visibleWriter); ok { // of the invocation that executes this one
		w = v.to
	}
	if w == nil {
		return nil
	}
	return visibleWriter{to: w, app: a}
}

func (v visibleWriter) Write(data []byte) (int, error) {
	text := v.app.PaletteFor(v.to).Visible(string(data))
	if _, err := io.WriteString(v.to, text); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Visible is the function Visible for a text with colours of the palette.
func (p Palette) Visible(text string) string { return visible(text, p.on) }

// OutputFile returns the file that an output of a command is written to, if it is one.
func OutputFile(w any) (*os.File, bool) {
	if v, ok := w.(visibleWriter); ok {
		w = v.to
	}
	f, ok := w.(*os.File)
	return f, ok
}
