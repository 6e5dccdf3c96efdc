package accept

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/imports"
	"gopkg.in/yaml.v3"
)

// noPin replaces a missing pin, so that the rest of a spec can be decoded and checked.
const noPin = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// Decode is toolspecs.Decode for a file whose MCP tools may lack a pin. pinned has, by name,
// whether a tool has one; specs without one get a pin that matches nothing.
func Decode(file string, data []byte, o toolspecs.Options) (specs []toolspecs.Spec,
	pinned map[string]bool, err error) {
	pinned = map[string]bool{}
	whole, err := eachDocument(data, func(doc *document) error {
		entry := findValue(doc.root(), "entry")
		if findScalar(entry, "type") != toolspecs.KindMCP {
			return nil
		}
		if toolspecs.IsPin(findScalar(entry, "pin")) {
			pinned[findScalar(doc.root(), "name")] = true
			return nil
		}
		return doc.set([]string{"entry", "pin"}, textNode(noPin))
	})
	if err == nil {
		if specs, err = toolspecs.Decode(file, whole, o); err == nil {
			return specs, pinned, nil
		}
	}
	// Faults are reported for the original file, at their own positions.
	_, err = toolspecs.Decode(file, data, o)
	return nil, nil, err
}

// File returns a toolspec file in which each named tool has the server's current pin, description,
// input schema and, if the spec has one, output schema. With pinsOnly only the pin changes. The
// error explains why a server's definition cannot be accepted, such as an invalid schema; the file
// must not be written then.
func File(file string, data []byte, o toolspecs.Options, remotes map[string]mcpclient.Tool,
	pinsOnly bool) ([]byte, error) {
	was, _, err := Decode(file, data, o)
	if err != nil {
		return nil, err
	}
	again, err := eachDocument(data, func(doc *document) error {
		name := findScalar(doc.root(), "name")
		remote, ok := remotes[name]
		if !ok {
			return nil
		}
		if err := doc.set([]string{"entry", "pin"}, textNode(remote.Digest())); err != nil ||
			pinsOnly {
			return err
		}
		i := slices.IndexFunc(was, func(s toolspecs.Spec) bool { return s.Name == name })
		return takeOver(doc, mcpEntry(was[i]), remote)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := check(file, was, again, o, remotes); err != nil {
		return nil, err
	}
	return imports.Renew(data, again), nil
}

// mcpEntry returns the entry of a tool of an MCP server.
func mcpEntry(s toolspecs.Spec) toolspecs.MCPEntry {
	entry, _ := s.Entry.Kind.(toolspecs.MCPEntry)
	return entry
}

// takeOver writes what an import of the remote tool would.
func takeOver(doc *document, entry toolspecs.MCPEntry, remote mcpclient.Tool) error {
	now, err := importTool(entry, remote)
	if err != nil {
		return err
	}
	if remote.Description != "" &&
		strings.TrimSpace(findScalar(doc.root(), "description")) != now.Description {
		if err := doc.set([]string{"description"}, textNode(now.Description)); err != nil {
			return err
		}
	}
	if err := takeOverSchema(doc, "parameters", "input_schema", now.InputSchema); err != nil {
		return err
	}
	switch {
	case findValue(doc.root(), "output") == nil && findValue(doc.root(), "output_schema") == nil:
		return nil
	case now.OutputSchema == nil:
		return doc.remove("output", "output_schema")
	default:
		return takeOverSchema(doc, "output", "output_schema", now.OutputSchema)
	}
}

func importTool(entry toolspecs.MCPEntry, remote mcpclient.Tool) (toolspecs.Spec, error) {
	if schema := remote.InputSchema; len(schema) > 0 && schema[0] != '{' {
		return toolspecs.Spec{},
			fmt.Errorf("the current definition of %s cannot be accepted: its input schema is not a JSON Schema",
				remote.Name)
	}
	result, err := imports.MCP(remote.Name, entry, []mcpclient.Tool{remote}, nil)
	if err != nil {
		return toolspecs.Spec{}, err
	}
	for _, refused := range result.Refused {
		return toolspecs.Spec{},
			fmt.Errorf("the current definition of %s cannot be accepted: %s", remote.Name,
				refused.Reason)
	}
	spec := result.Tools[0].Spec
	spec.OutputSchema = remote.OutputSchema
	return spec, nil
}

func takeOverSchema(doc *document, older, key string, schema []byte) error {
	node, err := schemaNode(schema)
	if err != nil {
		return err
	}
	return doc.replace(older, key, node)
}

// check verifies that the new file has the accepted definitions and is otherwise unchanged.
func check(file string, was []toolspecs.Spec, after []byte, o toolspecs.Options,
	remotes map[string]mcpclient.Tool) error {
	is, _, err := Decode(file, after, o)
	if err != nil {
		return fmt.Errorf("the current definition cannot be accepted: %w", err)
	}
	for i := range was {
		remote, accepted := remotes[was[i].Name]
		if len(was) != len(is) || unlike(was[i], is[i], accepted) || accepted &&
			mcpEntry(is[i]).Pin != remote.Digest() {
			return fmt.Errorf(
				"%s: %s cannot be rewritten without changing other lines; write the pin by hand: pin: %s",
				file, was[i].Name, remote.Digest())
		}
	}
	return nil
}

// unlike reports whether two specs differ in something that is not taken over.
func unlike(a, b toolspecs.Spec, accepted bool) bool {
	if accepted {
		for _, s := range []*toolspecs.Spec{&a, &b} {
			toolspecs.EditEntry(s, func(e *toolspecs.MCPEntry) { e.Pin = "" })
			s.Description = ""
			s.Parameters, s.InputSchema, s.Output, s.OutputSchema = nil, nil, nil, nil
		}
	}
	left, err1 := jsonvalue.Encode(a)
	right, err2 := jsonvalue.Encode(b)
	return err1 != nil || err2 != nil || !bytes.Equal(left, right)
}

func textNode(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// schemaNode returns a schema as YAML. JSON is YAML, but in braces; as a block it reads like the
// rest.
func schemaNode(schema []byte) (*yaml.Node, error) {
	if len(schema) == 0 {
		schema = []byte("{}")
	}
	var n yaml.Node
	if err := yaml.Unmarshal(schema, &n); err != nil || len(n.Content) != 1 {
		return nil, fmt.Errorf("the server's schema cannot be read: %w", err)
	}
	plain(n.Content[0])
	return n.Content[0], nil
}

// plain takes the look of JSON off a value.
func plain(n *yaml.Node) {
	if len(n.Content) > 0 {
		n.Style &^= yaml.FlowStyle
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		text := n.Value
		*n = yaml.Node{}
		n.SetString(text)
	}
	for _, c := range n.Content {
		plain(c)
	}
}

func encode(n *yaml.Node) (string, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
