package cli

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// Table is rows of cells in columns. Cells may be coloured.
type Table struct {
	Header []string
	Rows   [][]string
	// Right marks the columns whose cells stand on the right.
	Right map[int]bool
}

func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Text is the table with two spaces between columns and none at the end of a line.
func (t *Table) Text(p Palette) string {
	widths := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	header := make([]string, len(t.Header))
	for i, h := range t.Header {
		header[i] = p.Bold(h)
	}
	var b strings.Builder
	for _, row := range append([][]string{header}, t.Rows...) {
		b.WriteString(t.line(row, widths) + "\n")
	}
	return b.String()
}

func (t *Table) line(row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		if i > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", widths[i]-lipgloss.Width(cell))
		if t.Right[i] {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}
