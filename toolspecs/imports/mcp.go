package imports

import (
	"cmp"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/toolspecs"
)

// MCPOptions say which tools of an MCP server become toolspecs, and how.
type MCPOptions struct {
	// Names picks tools whose names on the server, or whose toolspecs' names, fit one of the
	// patterns; empty picks all.
	Names []string
	// Prefix begins every name, so that tools of several servers can be told apart.
	Prefix string
	// Output declares results as well, where the server does. A result that breaks it gives a note.
	Output bool
}

// MCP makes a pinned toolspec of every picked tool that a server lists. entry says how the server
// is reached, as a toolspec of the kind mcp does. Description and schemas are the server's own
// words, for that is what is pinned; only a schema that no toolspec could have is brought into the
// form of one, with notes.
func MCP(entry toolspecs.Entry, listed []mcpclient.Tool, o MCPOptions) Result {
	parts := make([]wanted, len(listed))
	for i, tool := range listed {
		parts[i] = wanted{o.Prefix + tool.Name, tool.Name}
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
		tools = append(tools, mcpTool(name, entry, listed[i], o))
	}
	r.take(tools)
	return r
}

func mcpTool(name string, entry toolspecs.Entry, remote mcpclient.Tool, o MCPOptions) Tool {
	var notes noted
	entry.Type, entry.Pin, entry.Remote = toolspecs.KindMCP, remote.Digest(), ""
	if name != remote.Name {
		entry.Remote = remote.Name
	}
	s := toolspecs.Spec{Name: name, Version: "1.0.0", Entry: entry,
		Description: cmp.Or(strings.TrimSpace(remote.Description), remote.Title, "The tool "+
			remote.Name+" of an MCP server.")}
	s.InputSchema = usable(remote.InputSchema, true, &notes)
	if o.Output && remote.OutputSchema != nil {
		s.OutputSchema, s.Execution.OnInvalidOutput = usable(remote.OutputSchema, false, &notes),
			"warn"
	}
	if remote.ReadOnly || remote.Idempotent {
		notes.add("", "the server says that it only reads or may run twice; servers are wrong about that at times, so its effect is once until you say otherwise")
	}
	return Tool{Spec: s, Source: remote.Name, Notes: notes.notes}
}

// usable returns a server's schema as it is where a toolspec can have it, else brought into that
// form.
func usable(schema []byte, arguments bool, notes *noted) []byte {
	trial := toolspecs.Spec{Name: "trial", Version: "1.0.0", Description: "A trial.",
		Entry: toolspecs.Entry{Type: toolspecs.KindFunction}}
	if trial.OutputSchema = schema; arguments {
		trial.InputSchema, trial.OutputSchema = schema, nil
	}
	_, err := trial.Compile()
	if err == nil && len(schema) > 0 {
		return schema
	}
	if len(schema) > 0 {
		notes.add("", "the server's schema is no plain JSON Schema (%s), and is written as one",
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
