package console

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/console/arguments"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/display"
)

// maxShown bounds a text on a page, in bytes. Longer ones have a link to the whole.
const maxShown = 4 << 10

// funcs are the functions of the templates.
var funcs = template.FuncMap{"json": arguments.Readable, "when": when,
	"iso": iso, "left": left, "took": took, "plural": display.Plural, "number": display.Thousands,
	"cost": cost, "link": link, "tone": tone, "refuses": refuses, "fields": newFields,
	"asked": newAskedPart, "id": entryID,
	"decidedNote": people.DecidedNote, "pauseNote": people.PauseNote,
	"add": func(a, b int) int { return a + b },
	"int": func(n int64) int { return int(n) },
	"limits": func(l *api.Limits) api.Limits {
		if l == nil {
			return api.Limits{}
		}
		return *l
	},
	"short": func(text string) string { return display.Shorten(text, 160) }}

// cut returns at most maxShown bytes of a text, and whether something is left out.
func cut(text string) (string, bool) {
	if len(text) <= maxShown {
		return text, false
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…", true
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// left says how much time there is until t.
func left(t time.Time) string {
	d := time.Until(t)
	switch {
	case t.IsZero():
		return "no time limit"
	case d <= 0:
		return "the time is over"
	}
	return took(d) + " left"
}

// took formats a duration in one or two units.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

func cost(c float64) string { return fmt.Sprintf("$%.4f", c) }

// link returns an address with parameters, which are pairs of names and values; empty values are
// left out.
func link(path string, pairs ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// sentence returns a message as a sentence.
func sentence(message string) string {
	r, size := utf8.DecodeRuneInString(message)
	return strings.TrimSuffix(string(unicode.ToUpper(r))+message[size:], ".") + "."
}
