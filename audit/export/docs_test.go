package export

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/records.md lists the columns of CSV, in order.
func TestDocs_ListTheColumns(t *testing.T) {
	page, err := os.ReadFile("../../docs/records.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "CSV has these columns: ")
	list, _, _ = strings.Cut(list, "\n\n")
	var listed, want []string
	for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(list, -1) {
		listed = append(listed, name[1])
	}
	for _, c := range columns {
		want = append(want, c.name)
	}
	if !slices.Equal(listed, want) {
		t.Errorf("docs/records.md lists %v, want %v", listed, want)
	}
}
