package imports

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/toolspecs"
)

// registered is one [[tool]] of a registry.
type registered struct {
	Name        string   `toml:"name"`
	Kind        string   `toml:"kind"`
	Version     string   `toml:"version"`
	Description string   `toml:"description"`
	Category    string   `toml:"category"`
	Tags        []string `toml:"tags"`
	Status      string   `toml:"status"`
	// Parameters are the arguments in the order that models see.
	Parameters []registeredParameter `toml:"parameters"`
	// Handler names the Go function of a BUILTIN or the factory of a NATIVE tool; default the
	// tool's name.
	Handler string `toml:"handler"`
	// URL is a REST tool's whole address, with {name} where an argument goes into its path, or an
	// MCP server's endpoint.
	URL     string            `toml:"url"`
	Method  string            `toml:"method"`
	Headers map[string]string `toml:"headers"`
	Query   map[string]string `toml:"query"`
	Auth    *registeredAuth   `toml:"auth"`
	// Command is the program of an MCP server, with its arguments, Env the variables that it may
	// see.
	Command []string `toml:"command"`
	Env     []string `toml:"env"`
	// Remote is the tool's name on the MCP server; default the tool's name.
	Remote string `toml:"remote"`

	Lane    string `toml:"lane"`
	Access  string `toml:"access"`
	Effect  string `toml:"effect"`
	Timeout string `toml:"timeout"`
}

type registeredAuth struct {
	Type   string `toml:"type"`
	Secret string `toml:"secret"`
	Name   string `toml:"name"`
}

type registeredParameter struct {
	Name        string `toml:"name"`
	Type        string `toml:"type"`
	Description string `toml:"description"`
	Required    bool   `toml:"required"`
	Default     any    `toml:"default"`
	Sensitive   bool   `toml:"sensitive"`
	// In is where a REST tool's argument goes: path, query, header or body. By default it goes into
	// the path if the URL has its name in braces, else into the query of a GET, HEAD or DELETE and
	// into the body of anything else.
	In        string `toml:"in"`
	Enum      []any  `toml:"enum"`
	Pattern   string `toml:"pattern"`
	MinLength any    `toml:"min_length"`
	MaxLength any    `toml:"max_length"`
	Min       any    `toml:"min"`
	Max       any    `toml:"max"`
	// Items is the type of a list's elements, Properties what an object has.
	Items      string                `toml:"items"`
	Properties []registeredParameter `toml:"properties"`
}

// ListTools lists the tools of an MCP server, so that they can be pinned.
type ListTools func(toolspecs.MCPEntry) ([]mcpclient.Tool, error)

// registryKinds are the older names of kinds, and what makes a tool of each.
var registryKinds = map[string]func(t registered, list ListTools, s *toolspecs.Spec,
	notes *noted) error{
	"BUILTIN": registered.function,
	"NATIVE":  registered.stateful,
	"REST":    registered.rest,
	"MCP":     registered.mcp,
}

// Registry creates a toolspec from every tool of an older TOML registry whose name matches one of
// the patterns: BUILTIN becomes function, NATIVE stateful, REST rest and MCP mcp. The error is
// Faults with lines: invalid TOML or unknown keys.
func Registry(file string, data []byte, only []string, list ListTools) (Result, error) {
	var content struct {
		Tool []registered `toml:"tool"`
	}
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(&content); err != nil {
		return Result{}, tomlFaults(file, err)
	}
	names := make([]string, len(content.Tool))
	for i, t := range content.Tool {
		names[i] = t.Name
	}
	parts := make([]part, len(names))
	for i, w := range numbered(names) {
		parts[i] = part{wanted: w, source: cmp.Or(w.name, fmt.Sprintf("[[tool]] %d", i+1)),
			make: func(name string) (Tool, error) { return content.Tool[i].tool(name, list) }}
	}
	var r Result
	err := r.add(file, "tools", parts, only)
	return r, err
}

// tomlFaults locates the faults of a registry file.
func tomlFaults(file string, err error) toolspecs.Faults {
	fault := toolspecs.Fault{File: file, Message: strings.TrimPrefix(err.Error(), "toml: ")}
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		var faults toolspecs.Faults
		for _, e := range missing.Errors {
			fault.Line, fault.Column = e.Position()
			fault.Message = fmt.Sprintf("unknown key %q", strings.Join(e.Key(), "."))
			faults = append(faults, fault)
		}
		return faults
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		fault.Line, fault.Column = wrong.Position()
		if key := wrong.Key(); len(key) > 0 { // the rest of the file is TOML
			fault.Message = strings.Join(key, ".") + " has a value of the wrong type"
		}
	}
	return toolspecs.Faults{fault}
}

func (t registered) tool(name string, list ListTools) (Tool, error) {
	if t.Name == "" {
		return Tool{}, errors.New("it has no name")
	}
	makeEntry, known := registryKinds[strings.ToUpper(t.Kind)]
	if !known {
		kinds := slices.Sorted(maps.Keys(registryKinds))
		return Tool{}, fmt.Errorf("there is no kind %q; kinds are %s", t.Kind,
			strings.Join(kinds, ", "))
	}
	var notes noted
	s := toolspecs.Spec{Name: name, Version: cmp.Or(t.Version, "1.0.0"), Category: t.Category,
		Tags: t.Tags, Status: api.Status(t.Status),
		Description: strings.TrimSpace(t.Description)}
	s.Execution = toolspecs.ExecutionSpec{Lane: t.Lane, Access: api.Access(t.Access),
		Effect: api.Effect(t.Effect)}
	if t.Timeout != "" {
		if err := s.Execution.Timeout.UnmarshalText([]byte(t.Timeout)); err != nil {
			return Tool{}, fmt.Errorf("timeout: %w", err)
		}
	}
	if name != t.Name {
		notes.add("", "the tool is called %q in the registry", t.Name)
	}
	if err := makeEntry(t, list, &s, &notes); err != nil {
		return Tool{}, err
	}
	return Tool{Spec: s, Notes: notes.notes}, nil
}
