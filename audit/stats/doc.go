// Package stats adds up runs and call records: reports by tool, lane and agent.
package stats
