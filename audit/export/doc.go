// Package export writes call records to files: CSV and JSON Lines, with equal columns.
package export
