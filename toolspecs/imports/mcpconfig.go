package imports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
	"gopkg.in/yaml.v3"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/secretname"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// ConfiguredServer is an MCP server of the configuration of an MCP client.
type ConfiguredServer struct {
	// Name is the name in the configuration, in the form that servers have.
	Name string
	// Entry declares how to reach the server, with references in place of secrets.
	Entry toolspecs.MCPEntry
	// Literals has the secrets that the configuration holds, by environment variable. They are for
	// connecting during the import and never written.
	Literals map[string]string
	Notes    []string
	// Problem is why the server cannot be imported; empty if it can.
	Problem string

	// taken are the variables that the servers of the configuration refer to.
	taken map[string]bool
}

// MCPConfig reads the MCP servers of a configuration as Claude, Cursor (mcpServers) and VS Code
// (servers) write it: JSON, with comments and trailing commas. The error is Faults.
func MCPConfig(file string, data []byte) ([]ConfiguredServer, error) {
	plain, err := hujson.Standardize(bytes.Clone(data))
	if err != nil {
		return nil, toolspecs.Faults{{File: file, Message: "this is not JSON: " +
			strings.TrimPrefix(err.Error(), "hujson: ")}}
	}
	root, _, err := parse(file, plain)
	if err != nil {
		return nil, err
	}
	servers := serversIn(root)
	if len(servers.Names()) == 0 {
		return nil, toolspecs.Faults{{File: file, Message: "the document configures no MCP servers",
			Hint: `write {"mcpServers": {"name": {"command": "program", "args": []}}}`}}
	}
	names := servers.Names()
	legalNames := toolNames(numbered(names))
	list := make([]ConfiguredServer, len(names))
	taken := map[string]bool{}
	for _, text := range variable.FindAllString(string(data), -1) {
		taken[referenced(text)] = true
	}
	for i, name := range names {
		s := &list[i]
		*s = ConfiguredServer{Name: legalNames[i], Literals: map[string]string{}, taken: taken}
		if err := s.read(servers.Members[name]); err != nil {
			s.Problem = err.Error()
		}
		if s.Name != name {
			s.Notes = append(s.Notes, fmt.Sprintf("it is called %q in the file", name))
		}
	}
	return list, nil
}

// serversIn returns the mapping of servers; nil if there is none. Settings of VS Code have it in
// mcp.
func serversIn(root any) *jsontext.Object {
	for _, holder := range []any{root, objectAt(root, "mcp")} {
		for _, key := range []string{"mcpServers", "servers"} {
			if servers := objectAt(holder, key); servers != nil {
				return servers
			}
		}
	}
	return nil
}

// declaredServer is a server as a configuration declares it.
type declaredServer struct {
	Command   string                     `json:"command"`
	Args      []string                   `json:"args"`
	Env       map[string]json.RawMessage `json:"env"`
	Dir       string                     `json:"cwd"`
	Type      string                     `json:"type"`
	Transport string                     `json:"transport"`
	URL       string                     `json:"url"`
	ServerURL string                     `json:"serverUrl"`
	HTTPURL   string                     `json:"httpUrl"`
	Headers   map[string]string          `json:"headers"`
	Disabled  bool                       `json:"disabled"`
}

// serverKeys are the keys of a server that are read, and those that mean something to clients only.
var serverKeys = []string{"command", "args", "env", "cwd", "type", "transport", "url", "serverUrl",
	"httpUrl", "headers", "disabled", "autoApprove", "alwaysAllow", "disabledTools", "timeout",
	"gallery", "version", "description", "name", "dev"}

// read reads the declaration of a server. The error is why it cannot be imported, without values,
// which may be secrets.
func (s *ConfiguredServer) read(value any) error {
	o, ok := value.(*jsontext.Object)
	if !ok {
		return errors.New("its declaration is not an object")
	}
	for _, key := range o.Names() {
		if !slices.Contains(serverKeys, key) {
			s.Notes = append(s.Notes, fmt.Sprintf("%s is not imported", key))
		}
	}
	var d declaredServer
	if err := json.Unmarshal(encoded(o), &d); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("its declaration has %s with a value of the wrong type, %s",
				wrong.Field, wrong.Value)
		}
		return err
	}
	// Beside httpUrl, url is the address of an older transport.
	switch address := cmp.Or(d.HTTPURL, d.URL, d.ServerURL); {
	case d.Disabled:
		return errors.New("it is disabled")
	case address != "":
		return s.remote(d, address)
	case d.Command == "":
		return errors.New("it has neither command nor url")
	}
	return s.program(d, o.Has("args"))
}

// program reads how a program is started. hasArguments is set if they are given apart from it.
func (s *ConfiguredServer) program(d declaredServer, hasArguments bool) error {
	s.Entry.Argv = append([]string{d.Command}, d.Args...)
	if fields := strings.Fields(d.Command); len(fields) > 1 && !hasArguments {
		s.Entry.Argv = fields
		s.Notes = append(s.Notes, "its command is split at blanks into program and arguments")
	}
	s.Entry.Dir = ownFolder(d.Dir)
	if err := s.checkArguments(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		text := string(d.Env[name])
		if value, ok := treeOf(d.Env[name]).(string); ok {
			text = value
		}
		if err := s.variable(name, text); err != nil {
			return err
		}
	}
	return nil
}

// checkArguments refuses arguments with secrets or variables, and replaces the folder of the
// workspace.
func (s *ConfiguredServer) checkArguments() error {
	if place := secretArgument(s.Entry.Argv); place != "" {
		s.Entry.Argv = nil
		return fmt.Errorf("%s looks secret; give it to the program by an environment variable in "+
			"env, or to the server by a header in headers", place)
	}
	for i, text := range s.Entry.Argv {
		s.Entry.Argv[i] = ownFolder(text)
		if m := variable.FindString(s.Entry.Argv[i]); m != "" {
			return fmt.Errorf("its argument %q has the variable %s; write the value in its place",
				text, m)
		}
	}
	return nil
}

var (
	// variable matches ${NAME}, ${NAME:-default}, ${env:NAME} and ${input:name}.
	variable     = regexp.MustCompile(`\$\{([^}]*)\}`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// ownFolder replaces the folder of the workspace, which is the worker's folder.
func ownFolder(text string) string {
	for _, name := range []string{"${workspaceFolder}", "${workspaceRoot}"} {
		if text == name {
			return "."
		}
		text = strings.ReplaceAll(text, name+"/", "")
	}
	return text
}

// referenced returns the environment variable that a value consists of; empty if it does not.
func referenced(text string) string {
	m := variable.FindStringSubmatch(text)
	if m == nil || m[0] != text {
		return ""
	}
	name, _, _ := strings.Cut(m[1], ":-")
	if input, ok := strings.CutPrefix(name, "input:"); ok {
		return envName(input)
	}
	name = strings.TrimPrefix(name, "env:")
	if !variableName.MatchString(name) {
		return ""
	}
	return name
}

// variable takes over an environment variable: a reference or a literal.
func (s *ConfiguredServer) variable(name, text string) error {
	e := &s.Entry
	secret := secretname.Matches(name) || secretIn(text) != ""
	switch from := referenced(text); {
	case from == name && !secret:
		e.Env = append(e.Env, name)
	case from != "":
		e.Secrets = with(e.Secrets, name, "env:"+from)
	case variable.MatchString(text):
		return fmt.Errorf("the value of %s has a variable within a text; write the value itself",
			name)
	case secret && text != "":
		e.Secrets = with(e.Secrets, name, s.hide(name, name, text))
	default:
		e.SetEnv = with(e.SetEnv, name, text)
	}
	return nil
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

func (s *ConfiguredServer) remote(d declaredServer, address string) error {
	switch kind := cmp.Or(d.Type, d.Transport); strings.ToLower(kind) {
	case "", "http", "streamable-http", "streamablehttp", "streamable_http":
	default:
		return fmt.Errorf("the transport %s is not supported; use the server's streamable HTTP "+
			"address with type http", kind)
	}
	if place := secretIn(address); place != "" {
		return fmt.Errorf("%s in its url looks secret; give it to the server by a header in "+
			"headers", place)
	}
	if variable.MatchString(address) {
		return fmt.Errorf("its url has a variable; write the address itself")
	}
	s.Entry.URL = address
	plain := object()
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		auth, err := s.authIn(name, d.Headers[name])
		switch {
		case err != nil:
			return err
		case auth == nil:
			plain.Set(name, d.Headers[name])
		case s.Entry.Auth != nil:
			return errors.New("several of its headers hold secrets, but a server has one")
		default:
			s.Entry.Auth = auth
		}
	}
	s.Entry.Headers = encodedMembers(plain)
	return nil
}

// authIn returns the secret that a header holds; nil if it holds none.
func (s *ConfiguredServer) authIn(name, text string) (*outbound.Auth, error) {
	auth := &outbound.Auth{Type: outbound.Header, Name: name}
	value := text
	if strings.EqualFold(name, "Authorization") {
		scheme, rest, _ := strings.Cut(text, " ")
		if !strings.EqualFold(scheme, "bearer") {
			return nil, errors.New("its header Authorization is not a bearer token; " +
				"import the server by its URL with --auth")
		}
		auth, value = &outbound.Auth{Type: outbound.Bearer}, strings.TrimSpace(rest)
	} else if !secretname.Matches(name) && secretIn(text) == "" &&
		!variable.MatchString(text) {
		return nil, nil
	}
	if from := referenced(value); from != "" {
		auth.Secret = "env:" + from
		return auth, nil
	}
	if variable.MatchString(value) {
		return nil, fmt.Errorf("the header %s has a variable within a text", name)
	}
	auth.Secret = s.hide("the header "+name, "token", value)
	return auth, nil
}

// ServersYAML returns a file of servers with further ones. Servers that old declares, and all that
// people wrote, stay. added are the names of those that were added.
func ServersYAML(old []byte, servers []ConfiguredServer) (data []byte, added []string, err error) {
	if len(strings.TrimSpace(string(old))) == 0 {
		old = []byte("# MCP servers, to which toolspecs refer by entry.server.\nservers: {}\n")
	}
	list, root, err := serverList(old)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range servers {
		if valueAt(list, s.Name) != nil {
			continue
		}
		entry, err := jsonvalue.Encode(s.Entry)
		if err != nil {
			return nil, nil, err
		}
		list.Style = 0
		list.Content = append(list.Content, plainScalar(s.Name), yamlNode(treeOf(entry)))
		added = append(added, s.Name)
	}
	if len(added) == 0 {
		return old, nil, nil
	}
	data, err = encodeYAML(root)
	return data, added, err
}

// serverList returns the mapping of servers in a file, and the file's document.
func serverList(data []byte) (list, root *yaml.Node, err error) {
	root = &yaml.Node{}
	if err := yaml.Unmarshal(data, root); err != nil {
		return nil, nil, err
	}
	if len(root.Content) > 0 {
		list = valueAt(root.Content[0], "servers")
	}
	if list == nil || list.Kind != yaml.MappingNode {
		return nil, nil, errors.New("it has no mapping servers")
	}
	return list, root, nil
}

// valueAt returns the value of a key of a mapping; nil if there is none.
func valueAt(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
