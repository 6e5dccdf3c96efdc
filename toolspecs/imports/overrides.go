package imports

import (
	"cmp"
	"net/url"
	"reflect"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// Overrides are what the person who imports declares of all tools. Empty fields leave the tools as
// they are.
type Overrides struct {
	// Prefix is put before every name.
	Prefix string
	// Session is for tools of the kind mcp; others keep theirs.
	Session string
	Access  api.Access
	Effect  api.Effect
	Lane    string
	// Heartbeat is the time without a heartbeat after which a worker counts as lost.
	Heartbeat api.Duration
	Category  string
	// Emits replaces the labels of results. Tags are added.
	Emits, Tags []string
}

// Override applies overrides to all tools. Tools that then are invalid, and tools that have the
// name of a tool that the worker provides, are refused. inside lists the non-public hosts that the
// worker lets tools reach; tools that cannot be reached are refused.
func (r *Result) Override(o Overrides, inside []string) {
	tools := r.Tools
	r.Tools = nil
	parts := make([]wanted, len(tools))
	for i, t := range tools {
		parts[i] = wanted{o.Prefix + t.Spec.Name, t.Source}
	}
	for i, name := range toolNames(parts) {
		o.apply(&tools[i].Spec, name)
	}
	provided := map[string]bool{}
	for _, s := range toolspecs.LoadShipped() {
		provided[s.Name] = true
	}
	tools = slices.DeleteFunc(tools, func(t Tool) bool {
		if provided[t.Spec.Name] {
			r.refuse(t.Source, "the worker provides a tool of the name %s; pass --prefix",
				t.Spec.Name)
			return true
		}
		err := t.Spec.CheckReach(inside)
		if err != nil {
			r.refuse(t.Source, "no worker would reach its server: %v; pass --allow %s", err,
				host(t.Spec))
		}
		return err != nil
	})
	if reflect.ValueOf(o).IsZero() {
		r.Tools = tools
		return
	}
	r.take(tools)
}

// host returns the host that a tool reaches.
func host(s toolspecs.Spec) string {
	address, err := url.Parse(s.Entry.Common().Address)
	if err != nil {
		return ""
	}
	return address.Hostname()
}

// keepName makes a tool that is about to be renamed refer to what had its name.
func keepName(s *toolspecs.Spec) {
	keep := func(name *string) { *name = cmp.Or(*name, s.Name) }
	toolspecs.EditEntry(s, func(e *toolspecs.FunctionEntry) { keep(&e.Handler) })
	toolspecs.EditEntry(s, func(e *toolspecs.StatefulEntry) { keep(&e.Handler) })
	toolspecs.EditEntry(s, func(e *toolspecs.MCPEntry) { keep(&e.Tool) })
}

func (o Overrides) apply(s *toolspecs.Spec, name string) {
	if o.Prefix != "" {
		keepName(s)
		s.Name = name
	}
	toolspecs.EditEntry(s, func(e *toolspecs.MCPEntry) {
		e.Session = cmp.Or(o.Session, e.Session)
	})
	s.Execution.Access = cmp.Or(o.Access, s.Execution.Access)
	s.Execution.Effect = cmp.Or(o.Effect, s.Execution.Effect)
	s.Execution.Lane = cmp.Or(o.Lane, s.Execution.Lane)
	s.Execution.Heartbeat = cmp.Or(o.Heartbeat, s.Execution.Heartbeat)
	s.Category = cmp.Or(o.Category, s.Category)
	if o.Emits != nil {
		s.Emits = nil
		for _, label := range o.Emits {
			s.Emits = append(s.Emits, policies.Emission{Label: label})
		}
	}
	for _, tag := range o.Tags {
		if !slices.Contains(s.Tags, tag) {
			s.Tags = append(slices.Clip(s.Tags), tag)
		}
	}
}
