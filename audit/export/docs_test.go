package export

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// documentedColumns returns the name and the type of each row of the table of columns in a page.
func documentedColumns(page string) (rows []string) {
	_, table, _ := strings.Cut(page, "| column | type | content |\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			return rows
		}
		if name := strings.TrimSpace(cells[1]); strings.HasPrefix(name, "`") {
			rows = append(rows, strings.Trim(name, "`")+" "+strings.TrimSpace(cells[2]))
		}
	}
	return rows
}

// docs/records.md lists exactly the columns of the exports, in order, with their types.
func TestDocs_ListTheColumns(t *testing.T) {
	page, err := os.ReadFile("../../docs/records.md")
	if err != nil {
		t.Fatal(err)
	}
	types := map[columnType]string{text: "text", integer: "integer",
		number: "number", boolean: "boolean", timestamp: "time", document: "JSON"}
	var want []string
	for _, c := range columns {
		want = append(want, c.name+" "+types[c.of])
	}
	if got := documentedColumns(string(page)); !slices.Equal(got, want) {
		t.Errorf("the columns of docs/records.md are\n%s\nwant\n%s", strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
	sample := "| column | type | content |\n| --- | --- | --- |\n| `a` | text | x |\n\n| `b` | text |\n"
	if got := documentedColumns(sample); !slices.Equal(got, []string{"a text"}) {
		t.Errorf("the columns of a page are %q", got)
	}
}
