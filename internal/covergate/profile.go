package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// threshold is the least coverage of a package, and where nested is set, of each package below it,
// or, where aggregate is set, of all packages below it as if they were one.
type threshold struct {
	pkg       string
	least     float64
	nested    bool
	aggregate bool
}

func (t threshold) holds(name string) bool {
	return name == t.pkg || t.nested && strings.HasPrefix(name, t.pkg+"/")
}

// block is a run of statements: file:line.column,line.column.
type block string

func (b block) pkg() string {
	file, _, _ := strings.Cut(string(b), ":")
	return path.Dir(file)
}

type count struct {
	statements int
	covered    bool
}

// profile is any number of coverage profiles put aggregate: a block is covered where one of them
// covers it.
type profile map[block]count

func (p profile) readFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.read(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// read adds a profile as go test -coverprofile and go tool covdata textfmt write it.
func (p profile) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "mode: ") {
		return fmt.Errorf("line 1: not a coverage profile")
	}
	for n := 2; lines.Scan(); n++ {
		if err := p.add(lines.Text()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

// add takes one line: block, number of statements, number of times they ran.
func (p profile) add(line string) error {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return fmt.Errorf("%q is not a block with two numbers", line)
	}
	statements, err := strconv.Atoi(fields[1])
	if err != nil {
		return err
	}
	ran, err := strconv.Atoi(fields[2])
	if err != nil {
		return err
	}
	b := block(fields[0])
	p[b] = count{statements: statements, covered: ran > 0 || p[b].covered}
	return nil
}

// result is the coverage of one package. fault is the reason why the package fails; empty if it
// passes.
type result struct {
	name    string
	percent float64
	fault   string
}

// results returns one result per package with a threshold, in the order of the thresholds. A
// threshold without a profile is a fault, because a gate that measures nothing must not pass.
func (p profile) results(thresholds []threshold) []result {
	total, covered := map[string]int{}, map[string]int{}
	for b, c := range p {
		total[b.pkg()] += c.statements
		if c.covered {
			covered[b.pkg()] += c.statements
		}
	}
	var results []result
	for _, t := range thresholds {
		if t.aggregate {
			total[t.pkg], covered[t.pkg] = sumBelow(total, t.pkg), sumBelow(covered, t.pkg)
		}
		if total[t.pkg] == 0 {
			results = append(results, result{name: t.pkg, fault: t.pkg +
				" is in none of the profiles"})
		}
		for _, pkg := range slices.Sorted(maps.Keys(total)) {
			if t.holds(pkg) && total[pkg] > 0 {
				results = append(results, t.evaluate(pkg, covered[pkg], total[pkg]))
			}
		}
	}
	return results
}

func (t threshold) evaluate(pkg string, covered, total int) result {
	v := result{name: pkg, percent: 100 * float64(covered) / float64(total)}
	if v.percent < t.least {
		v.fault = fmt.Sprintf(
			"%s has %.1f %%, %d of its %d statements never run in any test; it needs %.0f %%",
			pkg, v.percent, total-covered, total, t.least)
	}
	return v
}

// sumBelow returns the sum of the counts of all packages below a folder.
func sumBelow(counts map[string]int, folder string) (sum int) {
	for pkg, n := range counts {
		if strings.HasPrefix(pkg, folder+"/") {
			sum += n
		}
	}
	return sum
}
