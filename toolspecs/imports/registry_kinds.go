package imports

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/toolspecs"
)

// checkSettings refuses settings that the tool's kind does not have.
func (t registered) checkSettings(allowed ...string) error {
	for _, setting := range []struct {
		name  string
		given bool
	}{{"handler", t.Handler != ""}, {"url", t.URL != ""}, {"method", t.Method != ""},
		{"headers", t.Headers != nil}, {"query", t.Query != nil},
		{"auth", t.Auth != nil}, {"command", t.Command != nil}, {"env", t.Env != nil},
		{"remote", t.Remote != ""}} {
		if setting.given && !slices.Contains(allowed, setting.name) {
			return fmt.Errorf("%s is not for the kind %s", setting.name, t.Kind)
		}
	}
	return nil
}

func (t registered) function(_ ListTools, s *toolspecs.Spec, _ *noted) error {
	s.Entry = toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: t.Handler}}
	s.InputSchema = t.arguments()
	return t.checkSettings("handler")
}

func (t registered) stateful(_ ListTools, s *toolspecs.Spec, _ *noted) error {
	s.Entry = toolspecs.Entry{Kind: toolspecs.StatefulEntry{Handler: t.Handler}}
	s.InputSchema = t.arguments()
	return t.checkSettings("handler")
}

// mcp takes the tool's schema, and its description where the registry has none, from the server.
func (t registered) mcp(list ListTools, s *toolspecs.Spec, notes *noted) error {
	allowed := []string{"command", "env", "remote"}
	if t.URL != "" {
		allowed = []string{"url", "headers", "auth", "remote"}
	}
	if err := t.checkSettings(allowed...); err != nil {
		return err
	}
	if (t.URL == "") == (len(t.Command) == 0) {
		return errors.New("an MCP tool has either a url or a command")
	}
	entry := toolspecs.MCPEntry{URL: t.URL, Argv: t.Command, Env: t.Env,
		Headers: joined(nil, t.Headers), Auth: t.auth()}
	listed, err := list(entry)
	if err != nil {
		return err
	}
	remote := cmp.Or(t.Remote, t.Name)
	i := slices.IndexFunc(listed, func(tool mcpclient.Tool) bool { return tool.Name == remote })
	if i < 0 {
		return fmt.Errorf("the server has no tool %q", remote)
	}
	made, err := mcpTool(s.Name, entry, listed[i])
	if err != nil {
		return err
	}
	s.Entry, s.InputSchema, s.Description = made.Spec.Entry, made.Spec.InputSchema,
		cmp.Or(s.Description, made.Spec.Description)
	if len(t.Parameters) > 0 {
		notes.add("", "its arguments come from the server, not from the registry")
	}
	if t.Effect == "" {
		notes.notes = append(notes.notes, made.Notes...)
	}
	return nil
}

func (t registered) auth() *outbound.Auth {
	if t.Auth == nil {
		return nil
	}
	return &outbound.Auth{Type: t.Auth.Type, Secret: t.Auth.Secret, Name: t.Auth.Name}
}

// rest describes the tool as an operation of its own document.
func (t registered) rest(_ ListTools, s *toolspecs.Spec, notes *noted) error {
	if err := t.checkSettings("url", "method", "headers", "query", "auth"); err != nil {
		return err
	}
	address, err := url.Parse(t.URL)
	if err != nil || address.Host == "" {
		return errors.New("a REST tool needs a url, such as https://api.example.com/items/{id}")
	}
	for name, values := range address.Query() {
		if len(values) > 1 {
			return fmt.Errorf("its url gives %s several times, but a query has each name once", name)
		}
	}
	path, _, _ := strings.Cut(t.URL[strings.Index(t.URL, address.Host)+len(address.Host):], "?")
	request := request{method: strings.ToUpper(cmp.Or(t.Method, http.MethodGet)),
		host: address.Scheme + "://" + address.Host, path: cmp.Or(path, "/"), fill: true,
		auth: t.auth()}
	for _, p := range t.Parameters {
		request.add(p.Name, p.in(request), p.schema())
	}
	made, err := request.tool(s.Name, s.Description)
	if err != nil {
		return err
	}
	s.Entry, s.InputSchema = made.Spec.Entry, made.Spec.InputSchema
	toolspecs.EditEntry(s, func(e *toolspecs.RESTEntry) {
		e.Headers = joined(e.Headers, t.Headers)
		e.Query = joined(e.Query, withQuery(t.Query, address))
	})
	s.Execution.Effect = cmp.Or(s.Execution.Effect, made.Spec.Execution.Effect)
	notes.notes = append(notes.notes, made.Notes...)
	return nil
}

// in is where an argument of a REST tool goes.
func (p registeredParameter) in(r request) string {
	switch {
	case p.In != "":
		return p.In
	case strings.Contains(r.path, "{"+p.Name+"}"):
		return inPath
	case slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodDelete}, r.method):
		return inQuery
	}
	return inBody
}

// withQuery returns constant parameters together with those that the address has.
func withQuery(query map[string]string, address *url.URL) map[string]string {
	all := map[string]string{}
	for name, values := range address.Query() {
		all[name] = values[0]
	}
	maps.Copy(all, query)
	return all
}

// joined adds constants to a mapping of templates, sorted by name.
func joined(templates json.RawMessage, values map[string]string) json.RawMessage {
	o, ok := treeOf(templates).(*jsontext.Object)
	if !ok {
		o = object()
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		o.Set(name, values[name])
	}
	return encodedMembers(o)
}

// arguments returns the schema of the tool's arguments.
func (t registered) arguments() json.RawMessage {
	s := convert(declare(t.Parameters))
	s.Set(keyAdditional, false)
	return encoded(s)
}

// declare returns the schema of an object with the parameters as properties.
func declare(parameters []registeredParameter) *jsontext.Object {
	properties := object()
	for _, p := range parameters {
		properties.Set(p.Name, p.schema())
	}
	return object(keyType, typeObject, keyProperties, properties)
}

// schema returns a parameter as the property of a schema.
func (p registeredParameter) schema() *jsontext.Object {
	s := object()
	if len(p.Properties) > 0 {
		s = declare(p.Properties)
	}
	for _, k := range []struct {
		key   string
		value any
		given bool
	}{
		{keyType, p.Type, p.Type != ""}, {keyDescription, p.Description, p.Description != ""},
		{keyRequired, true, p.Required},
		{keyDefault, p.Default, p.Default != nil}, {"writeOnly", true, p.Sensitive},
		{keyEnum, p.Enum, len(p.Enum) > 0},
		{"pattern", p.Pattern, p.Pattern != ""}, {"minLength", p.MinLength, p.MinLength != nil},
		{"maxLength", p.MaxLength, p.MaxLength != nil},
		{"minimum", p.Min, p.Min != nil}, {"maximum", p.Max, p.Max != nil},
		{keyItems, map[string]string{keyType: p.Items}, p.Items != ""},
	} {
		if k.given {
			s.Set(k.key, treeOf(jsonOf(k.value)))
		}
	}
	return s
}

// jsonOf writes a value of TOML as JSON; what JSON lacks, such as a date, as text.
func jsonOf(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("null") // an infinite number
	}
	return data
}
