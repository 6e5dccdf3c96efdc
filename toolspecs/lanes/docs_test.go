package lanes

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// fieldRow is a row of the table of fields: the texts in backticks in the columns of values and
// defaults.
type fieldRow struct{ values, defaults []string }

var inBackticks = regexp.MustCompile("`([^`]+)`")

func words(cell string) []string {
	var list []string
	for _, m := range inBackticks.FindAllStringSubmatch(cell, -1) {
		list = append(list, m[1])
	}
	return list
}

// fieldTable reads the table of docs/lanes-file.md whose first column has the given name.
func fieldTable(t *testing.T, page, column string) map[string]fieldRow {
	t.Helper()
	_, table, ok := strings.Cut(page,
		"| "+column+" | description | values | default |\n| --- | --- | --- | --- |\n")
	if !ok {
		t.Fatalf("docs/lanes-file.md has no table with the first column %q", column)
	}
	rows := map[string]fieldRow{}
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			break
		}
		rows[strings.Trim(cells[1], "` ")] = fieldRow{values: words(cells[3]),
			defaults: words(cells[4])}
	}
	return rows
}

var bounds = regexp.MustCompile(`(?:min|max)=([^,]+)|enum=([^,]+)`)

// checkRows checks that the table has exactly the fields of a type, with their bounds and values.
func checkRows(t *testing.T, rows map[string]fieldRow, of reflect.Type) {
	t.Helper()
	var names []string
	for _, f := range reflect.VisibleFields(of) {
		name := f.Tag.Get("yaml")
		if name == "-" {
			continue
		}
		names = append(names, name)
		row, there := rows[name]
		if !there {
			t.Errorf("the page does not document the field %s", name)
		}
		for _, m := range bounds.FindAllStringSubmatch(f.Tag.Get("rule"), -1) {
			for word := range strings.SplitSeq(m[1]+m[2], "|") {
				if !slices.Contains(row.values, word) {
					t.Errorf("of the field %s the page does not say %s", name, word)
				}
			}
		}
	}
	for name := range rows {
		if !slices.Contains(names, name) {
			t.Errorf("there is no field %s", name)
		}
	}
}

// The page on the lanes file lists exactly the keys and fields that exist, each with its bounds,
// values and default. Its examples decode.
func TestDocs_ListEveryField(t *testing.T) {
	data, err := os.ReadFile("../../docs/lanes-file.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	checkRows(t, fieldTable(t, page, "key"), reflect.TypeFor[lanesFile]())
	rows := fieldTable(t, page, "field")
	checkRows(t, rows, reflect.TypeFor[laneFile]())
	keyed := WithDefaults(api.Lane{Key: "{{args.a}}"})
	for name, want := range map[string]string{
		"limit": strconv.Itoa(keyed.Limit), "holders": strconv.Itoa(defaultHolders),
		"strategy": string(keyed.Strategy),
		"fairness": string(keyed.Fairness), "on_lost_lease": string(keyed.OnLostLease),
		"lease": keyed.Lease.String(),
	} {
		if !slices.Contains(rows[name].defaults, want) {
			t.Errorf("of the field %s the page says that the default is %q, not %s", name,
				rows[name].defaults, want)
		}
	}
	for _, category := range Categories {
		if !slices.Contains(rows["categories"].values, category) {
			t.Errorf("the page does not document the category %s", category)
		}
	}
	if !strings.Contains(page, "```yaml\nlanes:\n") {
		t.Error("the page shows no lanes file")
	}
}
