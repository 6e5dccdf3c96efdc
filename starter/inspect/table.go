package inspect

import (
	"cmp"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/cli"
)

// unknown is shown for values that are unknown or do not apply.
const unknown = "-"

// dollars is an amount of money.
type dollars float64

func (d dollars) String() string { return fmt.Sprintf("$%.4f", float64(d)) }

// newTable returns a table whose columns from number on hold numbers.
func newTable(number int, header ...string) *cli.Table {
	t := &cli.Table{Header: header, Right: map[int]bool{}}
	for i := number; i < len(header); i++ {
		t.Right[i] = true
	}
	return t
}

// addRow adds a row that begins with a name of a user.
func addRow(t *cli.Table, name string, values ...any) {
	row := []string{cmp.Or(cli.PlainText(name), unknown)}
	for _, value := range values {
		text := fmt.Sprint(value)
		if d, ok := value.(api.Duration); ok {
			text = cli.ShortDuration(d.Std())
		}
		row = append(row, text)
	}
	t.Add(row...)
}
