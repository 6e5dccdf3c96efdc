package imports

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// Bounds for lists and mappings written on one line: characters, and members of a mapping.
const (
	maxFlow        = 80
	maxFlowMembers = 3
)

// YAML writes a tool of the result as a file, with fields in the order of Spec: a comment about its
// origin, one for each note, and the record of ReadRecord. Equal tools give equal bytes.
func (r Result) YAML(t Tool) ([]byte, error) {
	fields, err := specFields(t.Spec)
	if err != nil {
		return nil, fmt.Errorf("toolspec %q: %w", t.Spec.Name, err)
	}
	spec, err := encodeYAML(yamlNode(fields))
	if err != nil {
		return nil, fmt.Errorf("toolspec %q: %w", t.Spec.Name, err)
	}
	from := t.Source
	if r.Title != "" {
		from += " of " + r.Title
	}
	head := comment("From " + from + ".")
	for _, note := range t.Notes {
		head += comment("Note: " + note)
	}
	content := append([]byte(head), spec...)
	record := newRecord(content, sourceDigest(r.Source, t.Spec))
	return slices.Concat([]byte(head), []byte(record), spec), nil
}

// specFields returns the fields of a spec that are set, without what the server that it names
// declares.
func specFields(s toolspecs.Spec) (*jsontext.Object, error) {
	if e, ok := s.Entry.Kind.(toolspecs.MCPEntry); ok && e.Server != "" {
		s.Entry.Kind = toolspecs.MCPEntry{Server: e.Server, Tool: e.Tool, Pin: e.Pin,
			Session: e.Session}
	}
	data, err := jsonvalue.Encode(s)
	if err != nil {
		return nil, err
	}
	fields, _ := treeOf(data).(*jsontext.Object)
	dropEmpty(objectAt(fields, "execution"))
	dropEmpty(fields)
	return fields, nil
}

// dropEmpty removes the members that a field has if it is not set.
func dropEmpty(o *jsontext.Object) {
	for _, name := range slices.Clone(o.Names()) {
		switch string(encoded(o.Members[name])) {
		case `""`, "0", `"0s"`, "{}", "null":
			o.Delete(name)
		}
	}
}

func encodeYAML(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(n)
	return b.Bytes(), err
}

func comment(text string) string { return "# " + oneLine(text, 500) + "\n" }

// yamlNode returns a JSON value as YAML.
func yamlNode(value any) *yaml.Node {
	n := &yaml.Node{}
	switch v := value.(type) {
	case *jsontext.Object:
		n.Kind = yaml.MappingNode
		for _, name := range v.Names() {
			n.Content = append(n.Content, scalar(name), yamlNode(v.Members[name]))
		}
	case []any:
		n.Kind = yaml.SequenceNode
		for _, e := range v {
			n.Content = append(n.Content, yamlNode(e))
		}
	case string:
		n = scalar(v)
		if strings.Contains(v, "\n") && strings.TrimSpace(v) == v && printable(v) {
			n.Style = yaml.LiteralStyle
		}
		return n
	default:
		return plainScalar(string(encoded(v)))
	}
	return tidy(n)
}

// tidy writes short values on one line: lists of scalars and small mappings.
func tidy(n *yaml.Node) *yaml.Node {
	if !short(n) {
		return n
	}
	n.Style = yaml.FlowStyle
	for _, c := range n.Content {
		if strings.Contains(c.Value, ":") {
			c.Style = yaml.DoubleQuotedStyle // within braces a colon may mean a mapping
		}
	}
	return n
}

// short reports whether the values in a list or mapping are plain and fit on one line.
func short(n *yaml.Node) bool {
	size := 2
	for _, c := range n.Content {
		if len(c.Content) > 0 || c.Style == yaml.LiteralStyle {
			return false
		}
		size += utf8.RuneCountInString(c.Value) + 2
	}
	return size <= maxFlow && (n.Kind == yaml.SequenceNode || len(n.Content) <= maxFlowMembers*2)
}

var (
	// bare texts mean themselves without quotes, unless they are reserved words.
	bare = regexp.MustCompile(
		`^([A-Za-z_/$](:?[A-Za-z0-9_./+$-])*( [A-Za-z0-9_./+$(),;'-]+)*|[0-9]+\.[0-9]+\.[0-9]+|([0-9]+(ms|s|m|h))+)$`)
	reserved = regexp.MustCompile(`(?i)^(y|n|yes|no|true|false|on|off|null|nan|inf)$`)
)

// scalar returns a text: in quotes where it could be taken for something else.
func scalar(text string) *yaml.Node {
	n := plainScalar(text)
	n.Tag = "!!str"
	if !bare.MatchString(text) || reserved.MatchString(text) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func plainScalar(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

// printable reports whether a block can hold a text: the writer quotes other ones whatever they
// were asked for.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 ||
			r == utf8.RuneError || r == 0xfeff || r > 0xffff
	})
}

// File is the name of the file that a tool is written to.
func File(s toolspecs.Spec) string { return s.Name + ".yaml" }
