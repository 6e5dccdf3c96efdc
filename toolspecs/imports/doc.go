// Package imports makes toolspecs of what others have written down: OpenAPI documents, functions as
// model providers take them, registries of the older kinds, and the tools that an MCP server lists.
// It is pure: bytes in, specs and notes out; nothing is fetched and no file is touched.
//
// Every part of a document ends in one of two lists, the tools or the refused. What a tool says
// otherwise than the document stands in its notes. Every spec that is returned compiles.
package imports
