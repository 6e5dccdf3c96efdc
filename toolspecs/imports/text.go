package imports

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxToolText bounds the description of a tool, in characters, because models pay for it in every
// step.
const maxToolText = 800

var (
	markup = regexp.MustCompile(
		`(?i)</?(a|abbr|b|blockquote|br|code|div|em|h[1-6]|hr|i|img|li|ol|p|pre|small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul)(\s[^<>]*)?/?>`)
	titles = regexp.MustCompile(`(?m)^\s*#{1,6}\s+`)
	links  = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()\s]*(\s+"[^"]*")?\)`)
)

// plain brings a description to one paragraph of at most most characters: without HTML, targets of
// links and headings, cut at the end of a sentence where there is one, else of a word.
func plain(text string, most int) string {
	text = html.UnescapeString(markup.ReplaceAllString(text, " "))
	text = titles.ReplaceAllString(text, "")
	text = links.ReplaceAllString(text, "$1")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' ' // also line ends
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return cut(strings.Join(strings.Fields(text), " "), most)
}

func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	kept := string([]rune(text)[:most])
	if end := strings.LastIndex(kept, ". "); end > len(kept)/2 {
		return kept[:end+1]
	}
	if end := strings.LastIndexByte(kept, ' '); end > 0 {
		kept = kept[:end]
	}
	return strings.TrimRight(kept, " ,;:") + " …"
}

// sentences joins texts and ends each with a full stop unless it has one.
func sentences(texts ...string) string {
	var all []string
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if last, _ := utf8.DecodeLastRuneInString(text); !strings.ContainsRune(".!?…:", last) {
			text += "."
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}
