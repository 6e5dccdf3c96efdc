// Package spelling finds the word that was probably meant.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// maxWord bounds the words that are compared, because the work grows with the square of their
// length.
const maxWord = 200

// Near returns at most limit of the known words that are close to word, the closest first.
func Near(word string, known []string, limit int) []string {
	if word == "" || len(word) > maxWord {
		return nil
	}
	type candidate struct {
		word     string
		distance int
	}
	var found []candidate
	for _, k := range known {
		if d, ok := closeness(word, k); ok {
			found = append(found, candidate{k, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.word, b.word))
	})
	var words []string
	for _, c := range found[:min(limit, len(found))] {
		if !slices.Contains(words, c.word) {
			words = append(words, c.word)
		}
	}
	return words
}

// closeness returns how far apart two words are, and whether that is near enough to be a slip: a
// third of the length, or one word within the other.
func closeness(word, known string) (int, bool) {
	if known == "" || len(known) > maxWord {
		return 0, false
	}
	a, b := fold(word), fold(known)
	if a == b {
		return 0, true
	}
	d := distance([]rune(a), []rune(b))
	if d <= max(len(a), len(b))/3 {
		return d, true
	}
	short, long := min(len(a), len(b)), max(len(a), len(b))
	within := strings.Contains(a, b) || strings.Contains(b, a)
	return long, within && short >= 3 && short*3 >= long
}

// fold makes read-file, readFile and read_file one word.
func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(s))
}

// distance is the number of insertions, deletions, replacements and swaps of neighbours between two
// words.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Hint returns `did you mean "x"?` for the nearest known word, else the list of known words; "" if
// there are none.
func Hint(word string, known []string) string {
	if near := Near(word, known, 1); len(near) > 0 {
		return `did you mean "` + near[0] + `"?`
	}
	if len(known) == 0 {
		return ""
	}
	const most = 20
	if len(known) > most {
		return "known: " + strings.Join(known[:most], ", ") + ", …"
	}
	return "known: " + strings.Join(known, ", ")
}
