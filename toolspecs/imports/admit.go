package imports

import (
	"cmp"
	"net/url"

	"github.com/switchyard/switchyard/toolspecs"
)

// Admit puts the prefix before the name of every tool, and refuses tools that then are invalid,
// that have the name of a tool that the worker provides, or that no worker can reach. inside lists
// the non-public hosts that the worker lets tools reach.
func (r *Result) Admit(prefix string, inside []string) {
	tools := r.Tools
	r.Tools = nil
	if prefix != "" {
		rename(tools, prefix)
	}
	provided := map[string]bool{}
	for _, s := range toolspecs.LoadShipped() {
		provided[s.Name] = true
	}
	var admitted []Tool
	for _, t := range tools {
		err := t.Spec.CheckReach(inside)
		switch {
		case provided[t.Spec.Name]:
			r.refuse(t.Source, "the worker provides a tool of the name %s; pass --prefix",
				t.Spec.Name)
		case err != nil:
			r.refuse(t.Source, "no worker would reach its server: %v; pass --allow %s", err,
				host(t.Spec))
		default:
			admitted = append(admitted, t)
		}
	}
	if prefix == "" {
		r.Tools = admitted
		return
	}
	r.take(admitted)
}

// rename puts a prefix before the names of tools, which keep referring to what had their names.
func rename(tools []Tool, prefix string) {
	parts := make([]wanted, len(tools))
	for i, t := range tools {
		parts[i] = wanted{prefix + t.Spec.Name, t.Source}
	}
	for i, name := range toolNames(parts) {
		s := &tools[i].Spec
		keep := func(own *string) { *own = cmp.Or(*own, s.Name) }
		toolspecs.EditEntry(s, func(e *toolspecs.FunctionEntry) { keep(&e.Handler) })
		toolspecs.EditEntry(s, func(e *toolspecs.StatefulEntry) { keep(&e.Handler) })
		toolspecs.EditEntry(s, func(e *toolspecs.MCPEntry) { keep(&e.Tool) })
		s.Name = name
	}
}

// host returns the host that a tool reaches.
func host(s toolspecs.Spec) string {
	address, err := url.Parse(s.Entry.Common().Address)
	if err != nil {
		return ""
	}
	return address.Hostname()
}
