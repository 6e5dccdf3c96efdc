package imports

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/toolspecs"
)

// MCPOptions select the tools of an MCP server that become toolspecs.
type MCPOptions struct {
	// Names selects tools whose name on the server or toolspec name matches one of the patterns;
	// empty selects all.
	Names []string
	// Output declares results as well, where the server does. A result that breaks it gives a note.
	Output bool
}

// MCP creates a pinned toolspec from every selected tool of a server. entry describes how to reach
// the server. Description and schemas are the server's text,
// because they are pinned; only a schema that no toolspec can have is rewritten, with notes.
func MCP(entry toolspecs.MCPEntry, listed []mcpclient.Tool, o MCPOptions) Result {
	parts := make([]wanted, len(listed))
	for i, tool := range listed {
		parts[i] = wanted{tool.Name, tool.Name}
	}
	var r Result
	var tools []Tool
	for i, name := range toolNames(parts) {
		if !picks(o.Names, func(pattern string) bool {
			return matches(pattern, name) ||
				matches(pattern, listed[i].Name)
		}) {
			continue
		}
		switch remote := listed[i]; {
		case remote.Name == "":
			r.refuse(fmt.Sprintf("tool %d of the server", i+1),
				"it has no name, so that it cannot be called")
		case remote.Unusable() != "":
			r.refuse(remote.Name, "%s", remote.Unusable())
		default:
			tools = append(tools, mcpTool(name, entry, remote, o))
		}
	}
	r.take(tools)
	return r
}

// noteEffect is the note of a tool whose effect is what its server says only if people say so too.
const noteEffect = "the server says that it is read-only or idempotent; this is not verified, " +
	"so its effect is once until you change it"

func mcpTool(name string, entry toolspecs.MCPEntry, remote mcpclient.Tool, o MCPOptions) Tool {
	var notes noted
	entry.Pin, entry.Tool = remote.Digest(), ""
	if name != remote.Name {
		entry.Tool = remote.Name
	}
	s := toolspecs.Spec{Name: name, Version: "1.0.0", Entry: toolspecs.Entry{Kind: entry},
		Description: cmp.Or(strings.TrimSpace(remote.Description), remote.Title, "The tool "+
			remote.Name+" of an MCP server.")}
	s.InputSchema = usable(remote.InputSchema, true, &notes)
	if o.Output && remote.OutputSchema != nil {
		s.OutputSchema, s.Execution.OnInvalidOutput = usable(remote.OutputSchema, false, &notes),
			"warn"
	}
	if remote.ReadOnly || remote.Idempotent {
		notes.add("", noteEffect)
	}
	return Tool{Spec: s, Source: remote.Name, Notes: notes.notes}
}

// usable returns a server's schema unchanged if a toolspec can have it, else rewritten.
func usable(schema []byte, arguments bool, notes *noted) []byte {
	trial := toolspecs.Spec{Name: "trial", Version: "1.0.0", Description: "A trial.",
		Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{}}}
	if trial.OutputSchema = schema; arguments {
		trial.InputSchema, trial.OutputSchema = schema, nil
	}
	_, err := trial.Compile()
	if err == nil && len(schema) > 0 {
		return schema
	}
	if len(schema) > 0 {
		notes.add("", "the server's schema is not a plain JSON Schema (%s) and was rewritten as one",
			firstFault(err))
	}
	o, _ := treeOf(schema).(*jsontext.Object)
	t := translator{root: o, most: maxDepth, left: maxSchemas, keep: true, response: !arguments,
		notes: notes, known: newMemory()}
	s := t.schema(o, "", 0)
	if arguments && !s.Has(keyType) {
		typed := jsontext.NewObject()
		typed.Set(keyType, typeObject)
		merge(typed, s)
		s = typed
	}
	return encoded(s)
}
