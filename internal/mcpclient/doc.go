// Package mcpclient speaks with MCP servers as toolspecs of the kind mcp name them: a program over
// its standard input and output, or a streamable-HTTP endpoint. It lists tools, calls them, says in
// what a tool differs from what was accepted, and holds every server to bounds: of time, of a
// message's size, and of what a connection may reach.
package mcpclient
