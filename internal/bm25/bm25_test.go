package bm25

import (
	"slices"
	"testing"
)

// TestWords_SplitsNamesAndCutsForms states which words a text is searched by.
func TestWords_SplitsNamesAndCutsForms(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"getHTTPStatus_of2Queries", []string{"get", "http", "status", "of2", "query"}},
		{"Please multiply the 3 multiplications", []string{"multipl", "multipl"}},
		{"Über-große Städte, 100 %", []string{"über", "große", "städte"}},
		{"", nil},
	} {
		if got := splitWords(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// TestSearch_RanksRareWordsAndHeavyFieldsFirst states the order of results.
func TestSearch_RanksRareWordsAndHeavyFieldsFirst(t *testing.T) {
	var documents [][]Field
	for _, d := range [][2]string{
		{"list_files", "Lists the files of a folder."},
		{"delete_file", "Deletes a file."},
		{"send_mail", "Sends a mail with files to a person."},
		{"get_weather", "Reads the weather of a city."},
		{"send_message", "Sends a message to a person."},
	} {
		documents = append(documents, []Field{{d[0], 3}, {d[1], 1}})
	}
	x := New(documents)
	for _, c := range []struct {
		query string
		n     int
		want  []int
	}{
		{"delete the file", 5, []int{1, 0, 2}},
		{"Send mails", 5, []int{2, 4}},
		{"send", 1, []int{4}},
		{"weather tomorrow?", 5, []int{3}},
		{"nothing known", 5, []int{}},
		{"", 5, []int{}},
	} {
		if got := x.Search(c.query, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.query, got, c.want)
		}
	}
	if got := New(nil).Search("file", 5); len(got) != 0 {
		t.Errorf("an empty index finds %v", got)
	}
}
