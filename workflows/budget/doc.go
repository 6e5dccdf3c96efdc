// Package budget counts what a run may use: the limits that it shares with its sub-agents, and the
// sizes of payloads, workflow tasks and the history.
package budget
