// Package accept writes the current definitions of MCP servers' tools into toolspec files: pins,
// descriptions and schemas. The rest of a file stays unchanged, including comments and line
// endings.
package accept
