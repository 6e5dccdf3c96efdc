// Package stats adds up runs and call records: reports, lanes, model steps.
package stats
