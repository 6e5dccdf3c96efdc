package imports

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// Bounds for values written on one line: characters, and members of a mapping.
const (
	maxLine        = 110
	maxFlow        = 80
	maxFlowMembers = 3
)

// YAML writes a toolspec as a file, with fields in the order of Spec, a comment about its origin,
// one for each note, and one that Merge reads. Equal tools give equal bytes. explicit are the paths
// of fields that the person who imports declared.
func YAML(title string, t Tool, explicit []string) ([]byte, error) {
	root, err := node(reflect.ValueOf(referring(t.Spec)))
	if err != nil {
		return nil, fmt.Errorf("toolspec %q: %w", t.Spec.Name, err)
	}
	var body bytes.Buffer
	e := yaml.NewEncoder(&body)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, fmt.Errorf("toolspec %q: %w", t.Spec.Name, err)
	}
	spec := folded(body.Bytes())
	record, err := recordOf(spec, explicit)
	if err != nil {
		return nil, fmt.Errorf("toolspec %q: %w", t.Spec.Name, err)
	}
	var b bytes.Buffer
	b.WriteString(comment(strings.TrimSpace("From " + t.Source + ofTitle(title))))
	for _, note := range t.Notes {
		b.WriteString(comment("Note: " + note))
	}
	b.WriteString(record + "\n")
	b.Write(spec)
	return b.Bytes(), nil
}

// referring returns a spec without what the server that it names declares.
func referring(s toolspecs.Spec) toolspecs.Spec {
	if e, ok := s.Entry.Kind.(toolspecs.MCPEntry); ok && e.Server != "" {
		s.Entry.Kind = toolspecs.MCPEntry{Server: e.Server, Tool: e.Tool, Pin: e.Pin,
			Session: e.Session}
	}
	return s
}

func ofTitle(title string) string {
	if title == "" {
		return "."
	}
	return " of " + title + "."
}

func comment(text string) string { return "# " + plain(text, 500) + "\n" }

var (
	rawType   = reflect.TypeFor[json.RawMessage]()
	blockHead = regexp.MustCompile(`(?m)^( *(?:- )*description: )\|$`)
)

// folded joins blocks of descriptions that read as one line, because wrap broke their lines. wrap
// ends such blocks with a line break, which a multi-line description never has.
func folded(data []byte) []byte { return blockHead.ReplaceAll(data, []byte("${1}>-")) }

// node returns a value as YAML; nil if it is empty.
func node(v reflect.Value) (*yaml.Node, error) {
	if v.IsZero() {
		return nil, nil
	}
	if v.Type() == rawType {
		return nodeOf(treeOf(v.Bytes()), ""), nil
	}
	if text, ok := v.Interface().(encoding.TextMarshaler); ok {
		data, err := text.MarshalText()
		return scalar(string(data)), err
	}
	if e, ok := v.Interface().(policies.Emission); ok && e.When == "" {
		return scalar(e.Label), nil
	}
	if e, ok := v.Interface().(toolspecs.Entry); ok {
		return entryNode(e)
	}
	return nodeByKind(v)
}

// entryNode returns the type of an entry, then the fields of its kind.
func entryNode(e toolspecs.Entry) (*yaml.Node, error) {
	return structNode(reflect.ValueOf(e.Kind), scalar("type"), scalar(e.Type()))
}

func nodeByKind(v reflect.Value) (*yaml.Node, error) {
	switch v.Kind() {
	case reflect.Pointer:
		return node(v.Elem())
	case reflect.Struct:
		return structNode(v)
	case reflect.Slice:
		return listNode(v)
	case reflect.Map:
		return mapNode(v), nil
	case reflect.String:
		if v.Type() == reflect.TypeFor[json.Number]() {
			return plainScalar(v.String()), nil
		}
		return scalar(v.String()), nil
	}
	return plainScalar(fmt.Sprint(v.Interface())), nil
}

// structNode returns the fields of a struct that are set, after those of head.
func structNode(v reflect.Value, head ...*yaml.Node) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Content: head}
	for i, f := range reflect.VisibleFields(v.Type()) {
		name := f.Tag.Get("yaml")
		if name == "-" || name == "" {
			continue
		}
		value, err := node(v.Field(i))
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		if name == "description" {
			wrap(value)
		}
		n.Content = append(n.Content, scalar(name), value)
	}
	return tidy(n), nil
}

// mapNode returns a map of texts.
func mapNode(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	names := v.Interface().(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n.Content = append(n.Content, scalar(name), scalar(names[name]))
	}
	return tidy(n)
}

func listNode(v reflect.Value) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range v.Len() {
		value, err := node(v.Index(i))
		if err != nil {
			return nil, err
		}
		if value == nil { // keep empty elements of lists
			value = scalar("")
		}
		n.Content = append(n.Content, value)
	}
	return tidy(n), nil
}

// nodeOf returns a JSON value as YAML. key is its key.
func nodeOf(value any, key string) *yaml.Node {
	n := &yaml.Node{}
	switch v := value.(type) {
	case *jsontext.Object:
		n.Kind = yaml.MappingNode
		for _, name := range v.Names() {
			n.Content = append(n.Content, scalar(name), nodeOf(v.Members[name], name))
		}
	case []any:
		n.Kind = yaml.SequenceNode
		for _, e := range v {
			n.Content = append(n.Content, nodeOf(e, ""))
		}
	case string:
		n = scalar(v)
		if key == keyDescription {
			wrap(n)
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

// wrap breaks a long description into lines if it reads the same without the breaks. A multi-line
// description becomes a block.
func wrap(n *yaml.Node) {
	switch text := n.Value; {
	case !printable(text):
	case strings.Contains(text, "\n"):
		if strings.TrimSpace(text) == text {
			n.Style = yaml.LiteralStyle
		}
	case utf8.RuneCountInString(text) > maxFlow && strings.Join(strings.Fields(text), " ") == text:
		if lines := broken(text); len(lines) > 1 {
			n.Value, n.Style = strings.Join(lines, "\n")+"\n", yaml.LiteralStyle
		}
	}
}

// broken breaks a text into lines at its blanks.
func broken(text string) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > maxLine {
			lines, line = append(lines, line), word
			continue
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

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
