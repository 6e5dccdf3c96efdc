package main

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// table is rows of cells in columns. Cells may be coloured.
type table struct {
	header []string
	rows   [][]string
	// right marks the columns whose cells stand on the right.
	right map[int]bool
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// text is the table with two spaces between columns and none at the end of a line.
func (t *table) text(p palette) string {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	header := make([]string, len(t.header))
	for i, h := range t.header {
		header[i] = p.bold(h)
	}
	var b strings.Builder
	for _, row := range append([][]string{header}, t.rows...) {
		b.WriteString(t.line(row, widths) + "\n")
	}
	return b.String()
}

func (t *table) line(row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		if i > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", widths[i]-lipgloss.Width(cell))
		if t.right[i] {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}
