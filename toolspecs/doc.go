// Package toolspecs is the contract of a tool. It decodes toolspecs from YAML, fills in defaults,
// checks them, compiles them to JSON Schema and validates arguments and results. A Catalog is a set
// of compiled tools.
//
// Each kind of tool has a file kind_*.go and one entry in kinds. docs/dev/architecture.md lists the
// steps to add one.
//
// Subpackages: folder loads and watches folders of toolspecs; schemas is JSON Schema; agents,
// plans, policies, lanes and models decode the other files that users write; imports and accept
// write toolspecs for existing APIs and MCP servers.
package toolspecs
