//go:build !linux

package main

import "context"

// awaitExit returns false: only Linux reports the exit of a process that is not a child.
func awaitExit(context.Context, int) bool { return false }
