package imports

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/toolspecs"
)

// MCP creates a pinned toolspec from every selected tool of a server. entry describes how to reach
// the server: those whose names match one of the patterns. Description and schemas are the server's
// text, because they are pinned; only what no toolspec can have of a schema is dropped, with notes.
// The error is Faults: nothing is selected. server names the server.
func MCP(server string, entry toolspecs.MCPEntry, listed []mcpclient.Tool,
	only []string) (Result, error) {
	parts := make([]part, len(listed))
	for i, remote := range listed {
		parts[i] = part{wanted: wanted{remote.Name, remote.Name},
			source: cmp.Or(remote.Name, fmt.Sprintf("tool %d of the server", i+1)),
			make:   func(name string) (Tool, error) { return mcpTool(name, entry, remote) }}
	}
	var r Result
	err := r.add(server, "tools", parts, only)
	return r, err
}

func mcpTool(name string, entry toolspecs.MCPEntry, remote mcpclient.Tool) (Tool, error) {
	var notes noted
	if remote.Name == "" {
		return Tool{}, errors.New("it has no name, so that it cannot be called")
	}
	if why := remote.Unusable(); why != "" {
		return Tool{}, errors.New(why)
	}
	entry.Pin, entry.Tool = remote.Digest(), ""
	if name != remote.Name {
		entry.Tool = remote.Name
	}
	s := toolspecs.Spec{Name: name, Version: "1.0.0", Entry: toolspecs.Entry{Kind: entry},
		Description: cmp.Or(strings.TrimSpace(remote.Description), remote.Title, "The tool "+
			remote.Name+" of an MCP server.")}
	s.InputSchema = arguments(remote.InputSchema)
	if remote.ReadOnly || remote.Idempotent {
		notes.add("", "the server says that it is read-only or idempotent; this is not verified, so its effect is once until you change it")
	}
	return Tool{Spec: s, Notes: notes.notes}, nil
}

// arguments returns a server's schema unchanged, or one that says that arguments are an object.
func arguments(schema json.RawMessage) json.RawMessage {
	o, ok := treeOf(schema).(*jsontext.Object)
	switch {
	case len(schema) > 0 && (!ok || o.Has(keyType)):
		return schema
	case !ok:
		return json.RawMessage(`{"type":"object"}`)
	}
	typed := object(keyType, typeObject)
	for _, key := range o.Keys {
		typed.Set(key, o.Members[key])
	}
	return encoded(typed)
}
