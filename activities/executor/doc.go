// Package executor defines the interface of all kinds of tools, and what executors share: failures,
// truncation, timeouts and redaction.
package executor
