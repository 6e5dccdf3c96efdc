// Package mcp executes tools of MCP servers.
package mcp
