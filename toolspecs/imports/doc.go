// Package imports creates toolspecs from existing descriptions: OpenAPI documents, functions of
// model providers, older tool registries, and the tools of an MCP server. It is pure: it reads
// bytes and returns specs and notes, without network or file access.
//
// Every part of a document ends up in one of two lists, tools or refused. The notes of a tool list
// its differences from the document. Every returned spec compiles.
package imports
