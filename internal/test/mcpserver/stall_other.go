//go:build !unix

package mcpserver

// stall blocks only the call.
func stall() { select {} }
