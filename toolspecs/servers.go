package toolspecs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// ServersFile is the name of files that declare MCP servers. A toolspec finds the one in its
// own folder, else the one in the folder above.
const ServersFile = "servers.yaml"

// IsServersFile reports whether a path is that of a file of servers.
func IsServersFile(path string) bool { return filepath.Base(path) == ServersFile }

// serversFile is the content of a file of servers.
type serversFile struct {
	Servers map[string]server `yaml:"servers" rule:"required"`
}

// server declares an MCP server by the fields of a toolspec's entry, and what its tools have by
// default.
type server struct {
	MCPEntry
	// Type may be written as in a toolspec.
	Type  string      `yaml:"type" rule:"enum=mcp"`
	Tools serverTools `yaml:"tools"`
}

// serverTools are the defaults of the tools of a server.
type serverTools struct {
	Category  string              `yaml:"category" rule:"enum=http|database|file|ai|notification|custom"`
	Tags      []string            `yaml:"tags"`
	Effects   []string            `yaml:"effects"`
	Emits     []policies.Emission `yaml:"emits" rule:"short=label"`
	Approval  *Approval           `yaml:"approval" rule:"short=when"`
	Policies  []string            `yaml:"policies"`
	Execution executionFile       `yaml:"execution"`
}

// ServersCache has decoded servers files, because every tool of a server refers to its file. It is
// safe for concurrent use.
type ServersCache struct {
	mu     sync.Mutex
	byPath map[string]decodedServers
}

// decodedServers is a servers file that was decoded from data.
type decodedServers struct {
	data   []byte
	list   map[string]server
	faults Faults
}

// decode returns the servers of a file, which tools share and must not change.
func (c *ServersCache) decode(file string, data []byte) (map[string]server, Faults) {
	if c == nil {
		return decodeServers(file, data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known, found := c.byPath[file]
	if !found || !bytes.Equal(known.data, data) {
		known = decodedServers{data: data}
		known.list, known.faults = decodeServers(file, data)
		if c.byPath == nil {
			c.byPath = map[string]decodedServers{}
		}
		c.byPath[file] = known
	}
	return known.list, known.faults
}

// serverName matches the names of servers.
var serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// CheckServers returns the names of the servers in a file. The error is Faults.
func CheckServers(file string, data []byte) ([]string, error) {
	list, faults := decodeServers(file, data)
	return slices.Sorted(maps.Keys(list)), faults.Err()
}

// ServerEntry returns the entry of a server in a file, as its tools have it. The error is Faults.
func ServerEntry(file string, data []byte, name string) (MCPEntry, bool, error) {
	list, faults := decodeServers(file, data)
	s, found := list[name]
	return s.MCPEntry, found, faults.Err()
}

func decodeServers(file string, data []byte) (map[string]server, Faults) {
	doc, faults := strictyaml.ParseOne(file, data, MaxFileBytes)
	if len(faults) > 0 || doc == nil {
		return nil, faults
	}
	var f serversFile
	reportOtherKinds(doc)
	doc.Decode(&f)
	for _, name := range slices.Sorted(maps.Keys(f.Servers)) {
		at := jsonpath.Key("$.servers", name)
		if !serverName.MatchString(name) {
			doc.ReportKey(at, fmt.Sprintf("%q cannot name a server", name),
				"use letters, digits, _, - and .")
		}
		for _, own := range []string{"tool", "pin", "server", "closes"} {
			if doc.Has(at + "." + own) {
				doc.ReportKey(at+"."+own, own+" is a field of a tool, not of its server",
					"write it in the toolspec")
			}
		}
		doc.ReportAll(f.Servers[name].check(at))
	}
	return f.Servers, doc.Faults()
}

// reportOtherKinds reports the fields of servers that only other kinds have.
func reportOtherKinds(doc *strictyaml.Document) {
	known := strictyaml.FieldNames(server{})
	for _, name := range doc.Keys("$.servers") {
		at := jsonpath.Key("$.servers", name)
		for _, field := range doc.Keys(at) {
			others := kindsWith(field)
			if len(others) > 0 && !slices.Contains(known, field) {
				message, hint := foreignFault(field, others, KindMCP)
				doc.ReportKey(at+"."+field, message, hint)
			}
		}
	}
}

// check returns the faults of a server whose declaration is at a path.
func (s server) check(at string) []strictyaml.Finding {
	entry := s.MCPEntry
	entry.Server, entry.Pin = "", "sha256:"+strings.Repeat("0", 64)
	trial := Spec{Name: "server", Entry: Entry{Kind: entry}}
	c := checker{}
	c.entry(trial.withDefaults())
	for i, f := range c.All {
		c.All[i].Path = at + strings.TrimPrefix(f.Path, "$.entry")
	}
	return c.All
}

// connectionFields are the fields of an entry that a named server declares and its tools do not.
var connectionFields = []string{"argv", "dir", "env", "set_env", "secrets", "url", "headers",
	"auth", "allow"}

// takeServer fills in what the server that the entry names declares. It reads the servers file
// beside the toolspec's file.
func (f *specFile) takeServer(doc *strictyaml.Document, file string, o Options) {
	entry, ok := f.Entry.Kind.(MCPEntry)
	name := entry.Server
	if !ok || name == "" {
		return
	}
	const at = "$.entry.server"
	for _, field := range connectionFields {
		if path := "$.entry." + field; doc.Has(path) {
			doc.ReportKey(path, fmt.Sprintf("%s is declared by the server %q", field, name),
				"remove it here, or remove server")
		}
	}
	EditEntry(&f.Spec, func(e *MCPEntry) { e.unresolved = true })
	path, data, err := findServers(file, o)
	if err != nil {
		doc.Report(at, err.Error(), "declare the server there: servers: {"+name+": {argv: […]}}")
		return
	}
	list, faults := o.Servers.decode(path, data)
	s, found := list[name]
	switch {
	case len(faults) > 0:
		doc.Report(at, "the servers file "+path+" has faults, first: "+faults[0].String(),
			"correct them there")
		return
	case !found:
		known := slices.Sorted(maps.Keys(list))
		doc.Report(at, fmt.Sprintf("%s declares no server %q", path, name),
			spelling.Hint(name, known))
		return
	}
	fillZero(reflect.ValueOf(&entry).Elem(), reflect.ValueOf(s.MCPEntry))
	f.Entry.Kind = entry
	f.takeDefaults(s.Tools)
}

// takeDefaults fills in what the toolspec leaves out.
func (f *specFile) takeDefaults(d serverTools) {
	if f.Category == "" {
		f.Category = d.Category
	}
	for _, list := range []struct{ own, other *[]string }{{&f.Tags, &d.Tags},
		{&f.Effects, &d.Effects}, {&f.Policies, &d.Policies}} {
		if *list.own == nil {
			*list.own = *list.other
		}
	}
	if f.Emits == nil {
		f.Emits = d.Emits
	}
	if f.Approval == nil {
		f.Approval = d.Approval
	}
	if f.Execution.Parallelizable != nil || f.Execution.Access != "" {
		d.Execution.Parallelizable, d.Execution.Access = nil, ""
	}
	fillZero(reflect.ValueOf(&f.Execution).Elem(), reflect.ValueOf(d.Execution))
}

// fillZero sets the exported fields of a struct that are zero to those of another, and does so in
// structs within.
func fillZero(into, from reflect.Value) {
	for i := range into.NumField() {
		field := into.Field(i)
		switch {
		case !field.CanSet():
		case field.IsZero():
			field.Set(from.Field(i))
		case field.Kind() == reflect.Struct:
			fillZero(field, from.Field(i))
		}
	}
}

// changing are words in names of tools that change what their server remembers.
var changing = strings.Fields("create add insert append write set update edit delete remove clear " +
	"reset push pop move open close start stop begin commit login logout connect disconnect " +
	"navigate click type select undo think thinking sequentialthinking")

// nameWords matches the words of a name, also in camel case.
var nameWords = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

func changes(name string) bool {
	return slices.ContainsFunc(nameWords.FindAllString(name, -1), func(word string) bool {
		return slices.Contains(changing, strings.ToLower(word))
	})
}

// Warnings returns what may be wrong with tools that have no faults: servers that seem to keep
// state although they are declared to keep none, undo tools whose approval is skipped, and names
// that a gateway does not offer.
func Warnings(tools []Located) Faults {
	return slices.Concat(sharedState(tools), unapprovedUndo(tools), namesOfGateway(tools))
}

// namesOfGateway returns a warning for each tool with the name of one that a gateway has itself.
func namesOfGateway(tools []Located) (warnings Faults) {
	for _, l := range tools {
		switch l.Spec.Name {
		case api.FindTools, api.GetResult, api.CallTool:
			warnings = append(warnings, l.Fault(fmt.Sprintf(
				"starter gateway does not offer %s: it has a tool of that name", l.Spec.Name),
				"choose another name if MCP clients are to call the tool"))
		}
	}
	return warnings
}

// unapprovedUndo returns a warning for each tool whose calls are undone by a tool with an approval:
// undo calls do not wait for it.
func unapprovedUndo(tools []Located) (warnings Faults) {
	asks := map[string]bool{}
	for _, l := range tools {
		asks[l.Spec.Name] = l.Spec.Approval != nil && l.Spec.Approval.When != approvalNever
	}
	for _, l := range tools {
		if undo := l.Spec.Undo; undo != nil && asks[undo.Tool] {
			warnings = append(warnings, l.Fault(fmt.Sprintf(
				"calls of %s need approval, but not those that undo calls of %s", undo.Tool,
				l.Spec.Name),
				"name another tool in undo if these calls need approval too"))
		}
	}
	return warnings
}

// sharedState returns a warning for each server that seems to keep state and is shared by all runs.
func sharedState(tools []Located) (warnings Faults) {
	seen := map[string]bool{}
	for _, l := range tools {
		e, ok := l.Spec.Entry.Kind.(MCPEntry)
		if !ok || e.Session != SessionShared || l.Spec.Execution.Effect == "read" ||
			!changes(e.Tool) {
			continue
		}
		server := fmt.Sprint(e.Server, e.Argv, e.URL)
		if !seen[server] {
			warnings = append(warnings, l.Fault(fmt.Sprintf(
				"the server seems to keep state, as its tool %s changes something, but session: %s "+
					"lets all runs share it", e.Tool, e.Session),
				"write session: run unless the state is meant for all runs"))
		}
		seen[server] = true
	}
	return warnings
}

// findServers reads the servers file in a toolspec's folder, or else in the folder above.
func findServers(file string, o Options) (path string, data []byte, err error) {
	var tried []string
	for _, name := range []string{ServersFile, filepath.Join("..", ServersFile)} {
		path = strictyaml.Beside(file, name)
		if data, err = o.read(path, MaxFileBytes); err == nil {
			return path, data, nil
		}
		if _, statErr := os.Lstat(path); !errors.Is(statErr, fs.ErrNotExist) {
			return path, nil, err
		}
		tried = append(tried, path)
	}
	return "", nil, fmt.Errorf("there is no file of servers: neither %s", strings.Join(tried,
		" nor "))
}
