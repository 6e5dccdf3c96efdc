// Command covergate holds packages to their statement coverage. It merges coverage profiles, of
// unit tests and of programs that end-to-end tests started, and fails naming every package below
// its threshold.
//
//	covergate PROFILE...
//
// Exit codes: 0 every threshold is met, 1 one is not, 2 a profile cannot be read.
package main

import (
	"fmt"
	"io"
	"os"
)

const module = "github.com/switchyard/switchyard"

// thresholds are the least statement coverage in percent that each package has to reach.
var thresholds = []threshold{
	{pkg: module + "/api", least: 90},
	{pkg: module + "/toolspecs", least: 90, nested: true},
	{pkg: module + "/workflows", least: 90, nested: true},
	{pkg: module + "/activities", least: 90, nested: true},
	{pkg: module + "/audit", least: 90, nested: true},
	// Many of these packages are small, and what api had before they were divided counts as one.
	{pkg: module + "/internal/core", least: 90, aggregate: true},
	{pkg: module + "/internal/value", least: 90, aggregate: true},
	// Its commands need a server, so most of them count with end-to-end tests only.
	{pkg: module + "/feature", least: 55, aggregate: true},
}

func main() {
	os.Exit(evaluate(os.Stdout, os.Stderr, os.Args[1:], thresholds))
}

// evaluate prints the coverage of every package with a threshold, and returns the exit code.
func evaluate(out, complaints io.Writer, profiles []string, thresholds []threshold) int {
	if len(profiles) == 0 {
		fmt.Fprintln(complaints,
			"covergate: no profile given; go test -coverprofile=FILE writes one")
		return 2
	}
	merged := profile{}
	for _, name := range profiles {
		if err := merged.readFile(name); err != nil {
			fmt.Fprintf(complaints, "covergate: %v\n", err)
			return 2
		}
	}
	results := merged.results(thresholds)
	code := 0
	for _, v := range results {
		fmt.Fprintf(out, "%6.1f %%  %s\n", v.percent, v.name)
	}
	for _, v := range results {
		if v.fault != "" {
			fmt.Fprintf(complaints, "covergate: %s\n", v.fault)
			code = 1
		}
	}
	return code
}
