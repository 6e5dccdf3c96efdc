// Package history derives the events, the call records and the summary of a run from its history.
package history
