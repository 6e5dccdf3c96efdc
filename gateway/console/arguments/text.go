package arguments

import (
	"bytes"
	"embed"
	"encoding/json"
	"strings"

	"github.com/switchyard/switchyard/internal/value/display"
)

// Templates has the template arguments, which shows a list of Argument, and argument, which shows
// the value of one. They call the function visible, which has to be Visible.
//
//go:embed arguments.html
var Templates embed.FS

// Visible replaces hidden characters, as display.ReplaceHidden has them, except line ends and tabs.
func Visible(text string) string {
	return display.ReplaceHidden(strings.ToValidUTF8(text, "\uFFFD"), "\n\t",
		func(rune) string { return "\uFFFD" })
}

// Readable formats JSON over several lines, and shows texts as they are.
func Readable(data json.RawMessage) string {
	var text *string
	if json.Unmarshal(data, &text) == nil && text != nil {
		return Visible(*text)
	}
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return Visible(string(data))
	}
	return Visible(b.String())
}
