package imports

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxToolText bounds the description of a tool, in characters: OpenAI accepts 1,024, and models pay
// for it in every step.
const maxToolText = 1000

// oneLine brings a text to one line of at most most characters.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' ' // also line ends
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return cut(strings.Join(strings.Fields(text), " "), most)
}

// cut ends a longer text after a sentence where there is one, else after a word.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	kept := string([]rune(text)[:most])
	if end := strings.LastIndex(kept, ". "); end > len(kept)/2 {
		return kept[:end+1]
	}
	if end := strings.LastIndexAny(kept, " \n"); end > 0 {
		kept = kept[:end]
	}
	return strings.TrimRight(kept, " \n,;:") + " …"
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
