// Package expect compares values in tests.
package expect
