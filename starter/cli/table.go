package cli

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// Table holds rows of cells. Cells may be coloured.
type Table struct {
	Header []string
	Rows   [][]string
	// Right marks right-aligned columns.
	Right map[int]bool
}

func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Text formats the table with two spaces between columns and no trailing spaces.
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
