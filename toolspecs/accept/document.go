package accept

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// separator starts a new document. It matches nothing else at the start of a line, not even inside
// a block of text.
var separator = regexp.MustCompile(`(?m)^---[ \t]*(#.*)?\r?\n`)

// eachDocument returns a file with its documents as change leaves them; those without a mapping are
// not looked at.
func eachDocument(data []byte, change func(*document) error) ([]byte, error) {
	var out bytes.Buffer
	from := 0
	for _, at := range append(separator.FindAllIndex(data, -1), []int{len(data), len(data)}) {
		doc := &document{text: string(data[from:at[0]])}
		if err := doc.parse(); err != nil {
			return nil, err
		}
		if doc.root() != nil {
			if err := change(doc); err != nil {
				return nil, err
			}
		}
		out.WriteString(doc.text)
		out.Write(data[at[0]:at[1]])
		from = at[1]
	}
	return out.Bytes(), nil
}

// document is one YAML document and its text. Changes are made in the text, which is then parsed
// again, so that all other lines stay unchanged.
type document struct {
	text string
	node yaml.Node
}

func (d *document) parse() error {
	d.node = yaml.Node{}
	return yaml.Unmarshal([]byte(d.text), &d.node)
}

// root returns the document's mapping; nil if it is not one.
func (d *document) root() *yaml.Node {
	if len(d.node.Content) != 1 || d.node.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	return d.node.Content[0]
}

// findIndex returns the index of a key in a mapping; -1 if it is absent.
func findIndex(mapping *yaml.Node, key string) int {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func findValue(mapping *yaml.Node, key string) *yaml.Node {
	i := findIndex(mapping, key)
	if i < 0 {
		return nil
	}
	return mapping.Content[i+1]
}

func findScalar(mapping *yaml.Node, key string) string {
	if v := findValue(mapping, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// set writes the value of a key, one or two levels deep.
func (d *document) set(path []string, value *yaml.Node) error {
	mapping, outer := d.root(), d.root()
	for _, key := range path[:len(path)-1] {
		if mapping = findValue(mapping, key); mapping == nil || mapping.Kind != yaml.MappingNode {
			return errors.New(key + " is no mapping")
		}
	}
	last := path[len(path)-1]
	if inBraces(mapping) && mapping != outer {
		// A mapping in braces is rewritten as a whole, in braces.
		put(mapping, last, value)
		return d.write(outer, path[0], path[0], mapping)
	}
	return d.write(mapping, last, last, value)
}

// replace writes a value under a key of the document and removes the key that it replaces.
func (d *document) replace(older, key string, value *yaml.Node) error {
	if old := findValue(d.root(), key); old != nil {
		return d.merge([]string{key}, old, value)
	}
	if findValue(d.root(), older) != nil {
		return d.write(d.root(), older, key, value)
	}
	return d.write(d.root(), key, key, value)
}

func (d *document) remove(keys ...string) error {
	for _, key := range keys {
		if findValue(d.root(), key) == nil {
			continue
		}
		if err := d.write(d.root(), key, key, nil); err != nil {
			return err
		}
	}
	return nil
}

// merge writes a value over another one unless they are equal regardless of order and style.
func (d *document) merge(path []string, old, value *yaml.Node) error {
	if equal(old, value) {
		return nil
	}
	return d.set(path, value)
}

func equal(a, b *yaml.Node) bool {
	var x, y any
	if a.Decode(&x) != nil || b.Decode(&y) != nil {
		return false
	}
	left, err1 := yaml.Marshal(x) // sorts keys
	right, err2 := yaml.Marshal(y)
	return err1 == nil && err2 == nil && bytes.Equal(left, right)
}

func inBraces(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

func put(mapping *yaml.Node, key string, value *yaml.Node) {
	if i := findIndex(mapping, key); i >= 0 {
		mapping.Content[i+1] = value
		return
	}
	mapping.Content = append(mapping.Content, textNode(key), value)
}

// write puts key: value into a mapping, in place of old or, without old, at the end. A nil value
// removes old.
func (d *document) write(mapping *yaml.Node, old, key string, value *yaml.Node) error {
	if inBraces(mapping) { // the document itself is in braces
		exchange(mapping, old, key, value)
		return d.rewrite()
	}
	text := ""
	if value != nil {
		if i := findIndex(mapping, old); i >= 0 && value.Kind == yaml.ScalarNode {
			value.LineComment = mapping.Content[i+1].LineComment
		}
		var err error
		if text, err = d.lines(mapping, key, value); err != nil {
			return err
		}
	}
	lines := strings.SplitAfter(d.text, "\n")
	from, to := d.span(mapping, old, lines)
	if from > 0 && !strings.HasSuffix(lines[from-1], "\n") {
		lines[from-1] += "\n"
	}
	d.text = strings.Join(lines[:from], "") + text + strings.Join(lines[to:], "")
	return d.parse()
}

func exchange(mapping *yaml.Node, old, key string, value *yaml.Node) {
	i := findIndex(mapping, old)
	switch {
	case value == nil:
		mapping.Content = slices.Delete(mapping.Content, i, i+2)
	case i >= 0:
		mapping.Content[i].Value, mapping.Content[i+1] = key, value
	default:
		put(mapping, key, value)
	}
}

// rewrite rewrites the whole document.
func (d *document) rewrite() error {
	text, err := encode(&d.node)
	if err != nil {
		return err
	}
	d.text = text + "\n"
	return d.parse()
}

// lines returns key: value formatted for a mapping.
func (d *document) lines(mapping *yaml.Node, key string, value *yaml.Node) (string, error) {
	text, err := encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{textNode(key),
		value}})
	if err != nil {
		return "", err
	}
	indent, end := strings.Repeat(" ", max(0, mapping.Column-1)), "\n"
	if strings.Contains(d.text, "\r\n") {
		end = "\r\n"
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			b.WriteString(indent + line)
		}
		b.WriteString(end)
	}
	return b.String(), nil
}

// span returns the lines that a key and its value take, from and to, from 0. Of a key that is not
// there it is the empty span after the mapping's last line.
func (d *document) span(mapping *yaml.Node, key string, lines []string) (from, to int) {
	i := findIndex(mapping, key)
	column := mapping.Column
	if i < 0 {
		from = mapping.Content[len(mapping.Content)-2].Line - 1
	} else {
		from = mapping.Content[i].Line - 1
	}
	to = from + 1
	for to < len(lines) && !outside(lines[to], column) {
		to++
	}
	for to > from+1 && blank(lines[to-1], column) {
		to--
	}
	if i < 0 {
		return to, to
	}
	return from, to
}

// outside reports whether a line belongs to the next key or follows the mapping whose keys start in
// column.
func outside(line string, column int) bool {
	indent, text := splitIndent(line)
	// of a list below its key without indentation
	item := text == "-" || strings.HasPrefix(text, "- ")
	return text != "" && indent < column && !strings.HasPrefix(text, "#") && !item
}

// blank reports whether a line at a value's end is not the value's: it is empty, or a comment of
// the next key.
func blank(line string, column int) bool {
	indent, text := splitIndent(line)
	return text == "" || indent < column && strings.HasPrefix(text, "#")
}

func splitIndent(line string) (indent int, text string) {
	line = strings.TrimRight(line, " \t\r\n")
	text = strings.TrimLeft(line, " ")
	return len(line) - len(text), text
}
