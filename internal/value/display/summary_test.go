package display

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// checkLine fails unless text is valid, fits one line of a terminal, and has at most limit
// characters.
func checkLine(t interface {
	Helper()
	Errorf(string, ...any)
}, text string, limit int) {
	t.Helper()
	if n := utf8.RuneCountInString(text); n > limit {
		t.Errorf("%q has %d characters, more than %d", text, n, limit)
	}
	if !utf8.ValidString(text) {
		t.Errorf("%q is not valid UTF-8", text)
	}
	for _, r := range text {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			t.Errorf("%q holds %U", text, r)
		}
	}
}

// Any bytes become one line with at most limit characters, which is cut only if it has to be.
func TestShorten_ReturnsOneLine(t *testing.T) {
	tests := []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"äöüß", 4, "äöüß"},
		{"äöüß", 3, "äö…"},
		{"a\r\nb\tc\x1b[31m", 20, "a  b c [31m"},
		{"a\u2028b\u202ec", 20, "a b c"},
		{"ab\xff\xfe", 3, "ab…"},
		{"ab\xff", 3, "ab "},
		{"👩‍👩‍👧", 20, "👩‍👩‍👧"},
		{"ab", 1, "…"},
		{"ab", 0, ""},
		{"ab", -1, ""},
		{"", 3, ""},
	}
	for _, tt := range tests {
		if got := Shorten(tt.text, tt.limit); got != tt.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		limit := rapid.IntRange(0, 30).Draw(t, "limit")
		short := Shorten(text, limit)
		checkLine(t, short, limit)
		if utf8.RuneCountInString(text) <= limit &&
			utf8.RuneCountInString(short) != utf8.RuneCountInString(text) {
			t.Fatalf("%q was cut to %q although %d fit", text, short, limit)
		}
	})
}

// The noun agrees with the number.
func TestNumbers_HaveSeparators(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000",
		1234567: "1,234,567"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for want, got := range map[string]string{"1 run": Plural(1, "run"), "0 runs": Plural(0, "run"),
		"1,200 calls": Plural(1200, "call"), "2 retries": Plural(2, "retry")} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A note has the number of omitted lines.
func TestHidden_KnowsWhatDoesNotShow(t *testing.T) {
	hidden := []rune{0, '\n', '\t', 0x1b, 0x7f, 0x85, 0xad, 0x34f, 0x61c, 0x115f, 0x180e, 0x200b,
		0x200c, 0x200d, 0x200e, 0x2028, 0x2029, 0x202e, 0x2060, 0x2066, 0x2800, 0x3164, 0xfe00,
		0xfe0f, 0xfeff, 0xffa0, 0x16fe4, 0x1d159, 0x1d173, 0xe0041, 0xe0100, 0xe0fff}
	shown := []rune{' ', 'a', '~', 'ä', 0xa0, 0x301, 0x600, 0x2801, 0x4e2d, 0x13430, 0x1f469,
		0xfffd}
	for _, r := range hidden {
		if !isHidden(r) {
			t.Errorf("%U shows", r)
		}
	}
	for _, r := range shown {
		if isHidden(r) {
			t.Errorf("%U is hidden", r)
		}
	}
}

// Joiners and variation selectors stay where they form something that shows, and nowhere else: a
// run of them can have a whole text.
func TestReplaceHidden_KeepsWhatFormsSomethingVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain ä 中\n\x07":                 "plain ä 中\n.",
		"👩\u200d👩\u200d👦":                 "👩\u200d👩\u200d👦",
		"👩🏽\u200d🚀":                       "👩🏽\u200d🚀",
		"❤\ufe0f\u200d🔥":                  "❤\ufe0f\u200d🔥",
		"1\ufe0f\u20e3":                   "1\ufe0f\u20e3",
		"می\u200cخواهم":                   "می\u200cخواهم",
		"क्\u200dष":                       "क्\u200dष",
		"邉\U000e0100":                     "邉\U000e0100",
		"pay\u200d 100":                   "pay. 100",
		"1\u200c00":                       "1.00",
		"a\ufe0f":                         "a.",
		"1\ufe0f0":                        "1.0",
		"😀\ufe00\ufe01":                   "😀..",
		"😀\ufe0f\ufe0e\ufe0f":             "😀\ufe0f..",
		"😀\U000e0101\U000e0102\U000e0103": "😀...",
		"👩\u200d\u200d👩":                  "👩..👩",
		"م\u200d\u200d\u200dم":            "م\u200d..م",
		"ok\u2800\u3164":                  "ok..",
	} {
		got := ReplaceHidden(text, "\n", func(rune) string { return "." })
		if got != want || HasHidden(text, "\n") != (want != text) {
			t.Errorf("%+q is %+q, want %+q", text, got, want)
		}
	}
}

func TestShortenLines_KeepsWholeLines(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 5, ""},
		{"one\n", 5, "one"},
		{"one\ntwo\nthree", 8, "one\ntwo\n… and 1 more"},
		{"one\ntwo\nthree", 13, "one\ntwo\nthree"},
		{"one\ntwo\nthree", 3, "one\n… and 2 more"},
		{"a line too long\ntwo", 6, "a lin…\n… and 1 more"},
		{"a\x1b[31m\nb\u2028c", 20, "a [31m\nb c"},
	} {
		if got := ShortenLines(c.text, c.limit); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}
