// Package toolspecs is the contract of a tool: it decodes toolspecs from YAML, validates arguments and results, and
// compiles both to JSON Schema. It also reads the other files a user writes: agents, plans and scripts. A Catalog holds the
// tools of a folder, and a Watcher keeps it in step with the folder's files.
//
// The packages below it are for the rest of what a tool is held to: policies and lanes with their files, importers, the
// programs, addresses and MCP servers that tools reach.
package toolspecs
