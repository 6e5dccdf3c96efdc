package expect

import "strings"

// warning is what a program that is built with coverage and gets no GOCOVERDIR writes to its
// standard error. Programs that tests start get a clean environment.
const warning = "warning: GOCOVERDIR not set, no coverage data emitted"

var coverage = strings.NewReplacer("; it wrote to standard error: "+warning, "", "\n"+warning, "")

// WithoutCoverage returns a message without what coverage adds to the output of a program.
func WithoutCoverage(message string) string { return coverage.Replace(message) }
