// Command codesize prints the lines of code of each area of the repository beside its budget. A
// line counts if it is neither blank nor comment, in Go code without tests, test support and
// generated code. It reports and does not fail: a change that grows an area says in its commit what
// it removes.
//
//	codesize FOLDER
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// area is a part of the repository; folders are its packages and those below them.
type area struct {
	name    string
	folders []string
	budget  int
}

// areas have the budgets after the cut to 80,000 lines. The last one has everything that is in none
// of the others.
var areas = []area{
	{"api", []string{"api"}, 2500},
	{"workflows, activities", []string{"workflows", "activities"}, 12500},
	{"feature", []string{"feature"}, 14000},
	{"kinds", []string{"kinds"}, 10000},
	{"toolspecs", []string{"toolspecs"}, 6500},
	{"audit", []string{"audit"}, 7000},
	{"gateway", []string{"gateway"}, 7500},
	{"starter", []string{"starter"}, 9000},
	{"the rest", nil, 11000},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: codesize FOLDER")
		os.Exit(2)
	}
	lines, err := count(os.Args[1], areas)
	if err != nil {
		fmt.Fprintln(os.Stderr, "codesize:", err)
		os.Exit(2)
	}
	write(os.Stdout, areas, lines)
}

// write prints a table of the areas and their sum.
func write(out io.Writer, areas []area, lines []int) {
	fmt.Fprintf(out, "%-24s%8s%8s\n", "area", "lines", "budget")
	sum, budget := 0, 0
	for i, a := range areas {
		fmt.Fprintf(out, "%-24s%8d%8d\n", a.name, lines[i], a.budget)
		sum, budget = sum+lines[i], budget+a.budget
	}
	fmt.Fprintf(out, "%-24s%8d%8d\n", "sum", sum, budget)
}

// count returns the lines of code of each area below a folder.
func count(root string, areas []area) ([]int, error) {
	lines := make([]int, len(areas))
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skips(name, entry.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			lines[areaIndex(name, areas)] += codeLines(text)
		}
		return err
	})
	return lines, err
}

// skips reports whether a folder has no code of ours that counts.
func skips(path, name string) bool {
	hidden := strings.HasPrefix(name, ".") && path != "."
	return hidden || name == "testdata" || path == "bin" || path == "internal/test"
}

// areaIndex returns the index of the area that a file belongs to.
func areaIndex(name string, areas []area) int {
	first, _, _ := strings.Cut(name, "/")
	i := slices.IndexFunc(areas, func(a area) bool { return slices.Contains(a.folders, first) })
	if i < 0 {
		return len(areas) - 1
	}
	return i
}

// codeLines returns how many lines of a Go file have code; none of a generated file.
func codeLines(text []byte) (lines int) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", text, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil || ast.IsGenerated(parsed) {
		return 0
	}
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for last := 0; ; {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(at)
		end := first + strings.Count(literal, "\n")
		lines += end - max(first, last+1) + 1
		last = max(last, end)
	}
}
