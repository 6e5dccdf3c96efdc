// Package toolspecs is the contract of a tool: it decodes toolspecs from YAML, validates arguments and results, and
// compiles both to JSON Schema. It also reads the other files a user writes: agents, plans and scripts.
package toolspecs
