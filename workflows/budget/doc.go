// Package budget counts what a run may use: the limits that it shares with its sub-agents, the size
// of its history, and the size of what one workflow task records.
package budget
