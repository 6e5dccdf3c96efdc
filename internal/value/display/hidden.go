package display

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isHidden reports whether a character by itself does not show as one, or changes the order of
// others: controls, line ends among them, Unicode's Default_Ignorable_Code_Point (format
// characters, fillers, joiners, variation selectors), and characters that fonts draw as nothing.
// In a text, joiners and selectors may form something that shows; see ReplaceHidden.
func isHidden(r rune) bool {
	if r <= unicode.MaxASCII {
		return unicode.IsControl(r)
	}
	if unicode.In(r, unicode.Prepended_Concatenation_Mark, egyptianFormat) {
		return false // format characters that show
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, blank)
}

var (
	// egyptianFormat are the controls that arrange hieroglyphs. Unicode excludes them from
	// Default_Ignorable_Code_Point, too.
	egyptianFormat = &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0x13430, Hi: 0x13440,
		Stride: 1}}}
	// blank are characters that are symbols or marks for Unicode and are drawn as nothing: the
	// pattern of Braille without dots, the filler of Khitan, a note without head.
	blank = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}},
		R32: []unicode.Range32{{Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1},
			{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}}}
	// joined are the scripts in which joiners change how letters are drawn, and arabicMarks those
	// that other scripts share with Arabic.
	joined = []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
		unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
		unicode.Myanmar, unicode.Khmer, unicode.Tibetan, arabicMarks}
	arabicMarks = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x64b, Hi: 0x655, Stride: 1},
		{Lo: 0x670, Hi: 0x670, Stride: 1}}}
)

// Characters that show only in a sequence.
const (
	nonJoiner  = '\u200c'
	joiner     = '\u200d'
	textStyle  = '\ufe0e'
	emojiStyle = '\ufe0f'
	keycap     = '\u20e3'
)

// isSymbol reports whether a character can be an emoji.
func isSymbol(r rune) bool {
	skinTone := 0x1f3fb <= r && r <= 0x1f3ff
	return r > unicode.MaxASCII && unicode.In(r, unicode.So, unicode.Sm) || skinTone ||
		strings.ContainsRune("‼⁉ℹ〰", r)
}

// sequence is what is known of a text before a character.
type sequence struct {
	// base is the last character that shows by itself, and last the one before the character.
	base, last rune
}

// shows reports whether a character that isHidden names shows between the sequence and next, which
// is utf8.RuneError at the end. After each base at most one selector shows, and between two
// characters at most one joiner: a run of them is text that nobody sees.
func (s sequence) shows(r, next rune) bool {
	switch {
	case r == joiner || r == nonJoiner:
		return s.joins(r, next)
	case s.last != s.base:
		return false
	case r == textStyle || r == emojiStyle:
		return isSymbol(s.base) || next == keycap && strings.ContainsRune("0123456789#*", s.base)
	case unicode.Is(unicode.Variation_Selector, r):
		return s.selects(r)
	}
	return false
}

// joins reports whether a joiner has an effect between the sequence and next.
func (s sequence) joins(r, next rune) bool {
	if r == nonJoiner {
		return unicode.In(s.last, joined...) && unicode.In(next, joined...)
	}
	emoji := s.last == s.base || s.last == emojiStyle
	return emoji && isSymbol(s.base) && isSymbol(next) || unicode.In(s.last, joined...)
}

// selects reports whether a selector of another kind has variants of the base.
func (s sequence) selects(r rune) bool {
	switch {
	case r <= 0x180f:
		return unicode.Is(unicode.Mongolian, s.base)
	case r <= 0xfe0f:
		return unicode.In(s.base, unicode.Han, unicode.Sm, unicode.Myanmar, unicode.Phags_Pa)
	}
	return unicode.Is(unicode.Han, s.base)
}

// ReplaceHidden returns a text with its hidden characters replaced by what replace returns for
// them, except those in keep. Joiners and variation selectors stay where they form something that
// shows, such as an emoji or a ligature. Bytes that are not UTF-8 stay.
func ReplaceHidden(text, keep string, replace func(rune) string) string {
	var b strings.Builder
	var before sequence
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		next, _ := utf8.DecodeRuneInString(text[size:])
		hidden := isHidden(r)
		if !hidden {
			before.base = r
		}
		if hidden && !strings.ContainsRune(keep, r) && !before.shows(r, next) {
			b.WriteString(replace(r))
		} else {
			b.WriteString(text[:size])
		}
		before.last = r
		text = text[size:]
	}
	return b.String()
}

// HasHidden reports whether ReplaceHidden would replace a character of a text.
func HasHidden(text, keep string) (found bool) {
	ReplaceHidden(text, keep, func(rune) string {
		found = true
		return ""
	})
	return found
}
