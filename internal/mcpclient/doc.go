// Package mcpclient connects to MCP servers of toolspecs of the kind mcp: programs over standard
// input and output, or streamable-HTTP endpoints. It lists and calls tools, compares tools with
// their accepted definitions, and enforces bounds on time, message size and reachable addresses.
package mcpclient
