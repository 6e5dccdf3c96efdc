// Package accept takes what MCP servers' tools are now over into toolspec files: their pins,
// descriptions and schemas. Everything else in a file stays as it is, comments and line ends
// included.
package accept
