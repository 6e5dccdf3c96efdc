package tokens

import (
	"math"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/cases"
	"github.com/switchyard/switchyard/internal/test/expect"
)

func TestCountTokens_EqualsPublishedCounts(t *testing.T) {
	for text, want := range map[string]int{
		"":                              0,
		"hello world":                   2,
		"Hello, world! It's 12345.":     9,
		`{"path":"docs/a.md","n":[1]}`:  11,
		"func main() {\n\treturn\n}\n":  7,
		"    indented\n\n\n  text":      6,
		"日本語のテキスト":                      6,
		"tiktoken is great!":            6,
		"antidisestablishmentarianism":  6,
		strings.Repeat("a", 200):        25,
		"<|endoftext|>":                 7,
		strings.Repeat(" ", 100) + "x":  3,
		"don't DON'T we'll I'M they'Ve": 8,
		"お誕生日おめでとう":                     8,
		"2 + 2 = 4":                     7,
	} {
		exact, err := encoding().Count(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Count(text); got != exact || got != want {
			t.Errorf("%.40q: got %d; the tokenizer says %d, this test %d", text, got, exact, want)
		}
	}
}

// The counts of real code and prose are those of the tokenizer, because texts are split by its
// pattern.
func TestCountTokens_IsExactOnRealText(t *testing.T) {
	for _, text := range expect.GoTexts(t) {
		text = text[:min(len(text), maxCounted)]
		exact, err := encoding().Count(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Count(text); got != exact {
			t.Errorf("%.60q…: got %d; want %d", text, got, exact)
		}
	}
}

// The mean error on real text is below 3 %.
func TestCountTokens_EstimatesLongTexts(t *testing.T) {
	var sum float64
	n := 0
	for _, text := range expect.GoTexts(t) {
		if len(text) <= maxCounted {
			continue
		}
		text = text[:min(len(text), 128<<10)]
		exact := countExactly(text)
		sum += math.Abs(float64(Count(text)-exact)) / float64(exact)
		n++
	}
	if mean := sum / float64(n); mean > 0.03 {
		t.Errorf("the mean error over %d texts is %.1f %%", n, 100*mean)
	}
	for _, size := range []int{maxCounted - 1, maxCounted, maxCounted + 1, maxCounted * 3,
		maxCounted * 100} {
		text := strings.Repeat("日本 word ", size/12+1)[:size]
		if got, want := Count(text), size/6; got < want*9/10 || got > want*11/10 {
			t.Errorf("%d bytes are %d tokens; want about %d", size, got, want)
		}
	}
}

// No text makes the counter panic or hang: strings that broke other programs, invalid UTF-8, cuts
// within characters.
func TestCountTokens_AcceptsAnyText(t *testing.T) {
	for _, text := range append(cases.NaughtyStrings(t), "\xff", "a\xc3", strings.Repeat("\xe6\x97",
		5000), strings.Repeat("\u0301", 100)) {
		got := Count(text)
		if exact, err := encoding().Count(text); err != nil || got != exact &&
			len(text) <= maxCounted {
			t.Errorf("%q: got %d; want %d, %v", text, got, exact, err)
		}
		for i := range min(len(text), 64) {
			if n := Count(text[i:]); n < 1 || n > len(text)-i {
				t.Errorf("%q: %d tokens of %d bytes", text[i:], n, len(text)-i)
			}
		}
	}
}

// FuzzCountTokens checks that any text is split into parts that advance, and counted as the
// tokenizer does.
func FuzzCountTokens(f *testing.F) {
	for _, seed := range []string{"a b", "A'LL", "12345", " \n x", "日本ABC", "\u0301a", "…//\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for rest := text; rest != ""; {
			n := nextPiece(rest)
			if n < 1 || n > len(rest) {
				t.Fatalf("a piece of %d bytes of %q", n, rest)
			}
			rest = rest[n:]
		}
		Count(text)
	})
}

// BenchmarkCountTokens counts 1 KB: the same text repeatedly, and parts of 1 MB of code.
func BenchmarkCountTokens(b *testing.B) {
	text := expect.GoSource(b)[:1024]
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			Count(text)
		}
	})
	b.Run("tokenizer", func(b *testing.B) {
		for b.Loop() {
			if _, err := encoding().Count(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		all, i := strings.Join(expect.GoTexts(b), ""), 0
		pieces = newPieceCache()
		for b.Loop() {
			Count(all[i : i+1024])
			i = (i + 1024) % (len(all) - 1024)
		}
	})
	b.Run("32KB", func(b *testing.B) {
		all := strings.Join(expect.GoTexts(b), "")[:32<<10]
		for b.Loop() {
			Count(all)
		}
	})
}
