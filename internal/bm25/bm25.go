// Package bm25 ranks short documents with fields by the words of a query, by BM25F.
package bm25

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// The usual constants of BM25: saturation bounds the weight of a repeated word, length says how
// much long fields count less.
const (
	saturation = 1.2
	length     = 0.3
)

// Field is one text of a document. Weight is the weight of its words; documents of an index have
// the same fields in the same order.
type Field struct {
	Text   string
	Weight float64
}

// Index ranks documents. It is immutable.
type Index struct {
	// weights has the weight of each word of each document, found the number of documents with a
	// word.
	weights []map[string]float64
	found   map[string]int
}

// New indexes documents. Their numbers are their positions.
func New(documents [][]Field) *Index {
	x := &Index{found: map[string]int{}}
	words := make([][][]string, len(documents))
	var total []int // words of each field over all documents
	for i, fields := range documents {
		for f, field := range fields {
			w := splitWords(field.Text)
			words[i] = append(words[i], w)
			if f == len(total) {
				total = append(total, 0)
			}
			total[f] += len(w)
		}
	}
	for i, fields := range documents {
		weights := map[string]float64{}
		for f, field := range fields {
			average := float64(total[f]) / float64(len(documents))
			for _, w := range words[i][f] {
				weights[w] += field.Weight /
					(1 - length + length*float64(len(words[i][f]))/average)
			}
		}
		for w := range weights {
			x.found[w]++
		}
		x.weights = append(x.weights, weights)
	}
	return x
}

// Search returns the numbers of at most n documents that share words with the query, best first.
// Documents of equal rank are in the order of their numbers.
func (x *Index) Search(query string, n int) []int {
	words := splitWords(query)
	slices.Sort(words)
	words = slices.Compact(words)
	scores := make([]float64, len(x.weights))
	var matches []int
	for i, weights := range x.weights {
		for _, w := range words {
			if weight := weights[w]; weight > 0 {
				scores[i] += x.rarity(w) * weight * (saturation + 1) / (weight + saturation)
			}
		}
		if scores[i] > 0 {
			matches = append(matches, i)
		}
	}
	slices.SortStableFunc(matches, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return matches[:min(n, len(matches))]
}

// rarity is the inverse document frequency of a word.
func (x *Index) rarity(word string) float64 {
	n := float64(x.found[word])
	return math.Log(1 + (float64(len(x.weights))-n+0.5)/(n+0.5))
}

// splitWords returns the words of a text that are worth searching for, in order: in lower case,
// without frequent words and numbers, and cut so that forms of one word are equal. Names such as
// getUserName and get_user_name are several words.
func splitWords(text string) []string {
	var words []string
	for word := range strings.FieldsFuncSeq(splitCamel(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		word = strings.ToLower(word)
		if len(word) > 1 && !frequent[word] && strings.ContainsFunc(word, unicode.IsLetter) {
			words = append(words, stem(word))
		}
	}
	return words
}

// splitCamel puts spaces before the capital letters that begin a word: getHTTPStatus becomes get
// HTTP Status.
func splitCamel(text string) string {
	var b strings.Builder
	runes := []rune(text)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) {
			before := runes[i-1]
			ends := unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(before) || unicode.IsDigit(before) || ends {
				b.WriteByte(' ')
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

// stemLetters is the number of letters that words are cut to.
const stemLetters = 7

// stem cuts a word so that its forms are equal: plurals lose their ending, long words the rest.
func stem(word string) string {
	switch {
	case len(word) > 4 && strings.HasSuffix(word, "ies"):
		word = strings.TrimSuffix(word, "ies") + "y"
	case len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") &&
		!strings.HasSuffix(word, "us"):
		word = strings.TrimSuffix(word, "s")
	}
	letters := 0
	for i := range word {
		if letters == stemLetters {
			return word[:i]
		}
		letters++
	}
	return word
}

// frequent are English words that say little about a tool.
var frequent = newSet("a about all an and any are as at be by can could do does for from give has " +
	"have help how i if in into is it its let like make me more my need of on one or our out " +
	"please should so some than that the their them then there this to up us use using want was " +
	"we what when where which who will with would you your im re ve ll don")

func newSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
