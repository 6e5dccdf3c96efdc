// Package export writes call records to files: CSV, in columns, and JSON Lines with a
// chain of hashes.
package export
