//go:build !unix

package mcpserver

// stall blocks the call alone.
func stall() { select {} }
