// Package strictyaml decodes YAML files into Go values and rejects everything that the Go type does
// not declare. It reports all faults of a file at once, each with line, column and a hint.
package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Fault is one thing wrong in a file.
type Fault struct {
	File string
	// Line and Column count from 1, columns in characters. Both are 0 for a fault of the whole file
	// or folder.
	Line, Column int
	Message      string
	// Hint is the remedy; it may be empty.
	Hint string
}

// String returns file:line:column: message (hint).
func (f Fault) String() string {
	where := f.File
	if strings.ContainsFunc(where, func(r rune) bool { return !unicode.IsPrint(r) }) {
		where = strconv.Quote(where) // a line end in a name would make one fault look like two
	}
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", where, f.Line, f.Column)
	}
	text := where + ": " + f.Message
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return text
}

// Faults are all things wrong in one or more files. As an error it lists them, one per line.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns f as an error, sorted by file, line and column; nil without faults.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	f.sort()
	return f
}

// AsFaults returns the Faults that err wraps. Another error becomes one fault of the file as a
// whole.
func AsFaults(file string, err error) Faults {
	if faults, ok := errors.AsType[Faults](err); ok {
		return faults
	}
	return Faults{{File: file, Message: err.Error()}}
}

// sort orders by file, line and column.
func (f Faults) sort() {
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
}
