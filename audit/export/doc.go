// Package export writes call records to files: CSV, JSON Lines and Parquet, with equal columns.
package export
