// Package executor has the interface that every kind of tool implements, and what executors share:
// failures, truncation, timeouts and redaction.
package executor
