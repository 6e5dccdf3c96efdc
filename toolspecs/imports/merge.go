package imports

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// The header of an imported file ends with a line that identifies the values as they were imported.
// It tells the changes that people made from those of the source.
const (
	recordPrefix = "# Imported: "
	recordSuffix = " (tells your changes from those of the source; keep this line)"
)

var recordLine = regexp.MustCompile(`(?m)^# Imported: ([A-Za-z0-9_-]*)`)

// headerLine matches the comments that an import writes.
var headerLine = regexp.MustCompile(`^# (From|Note:|Imported:) `)

// versionPart matches the version at the end of a title.
var versionPart = regexp.MustCompile(` v?[0-9]\S*$`)

// IsImported reports whether data is a file that an import wrote.
func IsImported(data []byte) bool {
	_, imported := recordIn(data)
	return imported
}

// Earlier reports whether data is a file that an import of the source with that title wrote, of
// this version of the source or another one. A source without a title has none.
func Earlier(data []byte, title string) bool {
	if !IsImported(data) || title == "" {
		return false
	}
	title = versionPart.ReplaceAllString(title, "")
	from, _, _ := strings.Cut(string(data), "\n")
	from = versionPart.ReplaceAllString(strings.TrimSuffix(from, "."), "")
	return strings.HasPrefix(from, "# From ") && strings.HasSuffix(from, " of "+title)
}

// digestBytes is the length of the digest of one value in the record.
const digestBytes = 3

// specField is a field of a toolspec's file: one of the document, or within entry or execution.
type specField struct {
	path  string
	value *yaml.Node
}

// digest identifies a field and its value.
func (f specField) digest() string {
	sum := sha256.Sum256([]byte(f.path + "\n" + plainValue(f.value)))
	return string(sum[:digestBytes])
}

// plainValue returns a value without its style and the order of its keys.
func plainValue(n *yaml.Node) string {
	var b strings.Builder
	switch n.Kind {
	case yaml.MappingNode:
		pairs := make([]string, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			pairs = append(pairs, fmt.Sprintf("%q:%s", n.Content[i].Value,
				plainValue(n.Content[i+1])))
		}
		slices.Sort(pairs)
		fmt.Fprintf(&b, "{%s}", strings.Join(pairs, ","))
	case yaml.SequenceNode:
		for _, c := range n.Content {
			b.WriteString("-" + plainValue(c) + "\n")
		}
	default:
		fmt.Fprintf(&b, "%s %q", n.ShortTag(), strings.TrimSpace(n.Value))
	}
	return b.String()
}

// nestedFields are the fields of a toolspec whose own fields are merged one by one.
var nestedFields = []string{"entry", "execution"}

// fieldsOf returns the fields of a toolspec in the order of its file.
func fieldsOf(root *yaml.Node) []specField {
	var all []specField
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i].Value, root.Content[i+1]
		if !slices.Contains(nestedFields, key) || value.Kind != yaml.MappingNode {
			all = append(all, specField{key, value})
			continue
		}
		for j := 0; j+1 < len(value.Content); j += 2 {
			all = append(all, specField{key + "." + value.Content[j].Value, value.Content[j+1]})
		}
	}
	return all
}

func find(fields []specField, path string) (specField, bool) {
	i := slices.IndexFunc(fields, func(f specField) bool { return f.path == path })
	if i < 0 {
		return specField{}, false
	}
	return fields[i], true
}

// recordOf returns the record of a file's values. Fields in skip, which a person declared, are no
// part of it.
func recordOf(data []byte, skip []string) (string, error) {
	doc, err := documentOf(data)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	for _, f := range fieldsOf(doc.Content[0]) {
		if !slices.Contains(skip, f.path) {
			b.WriteString(f.digest())
		}
	}
	return recordPrefix + base64.RawURLEncoding.EncodeToString(b.Bytes()) + recordSuffix, nil
}

// recorded are the digests of the values as they were imported.
type recorded map[string]bool

func recordIn(data []byte) (recorded, bool) {
	m := recordLine.FindSubmatch(data)
	if m == nil {
		return nil, false
	}
	digests, err := base64.RawURLEncoding.DecodeString(string(m[1]))
	if err != nil {
		return nil, false
	}
	known := recorded{}
	for part := range slices.Chunk(digests, digestBytes) {
		known[string(part)] = true
	}
	return known, true
}

// documentOf returns the document of a file with one, which is a mapping.
func documentOf(data []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("it is no mapping")
	}
	if d.Decode(&more) == nil {
		return nil, fmt.Errorf("it has several documents")
	}
	return &doc, nil
}

// sourceFields identify where a tool comes from.
var sourceFields = []string{"entry.type", "entry.base_url", "entry.url", "entry.argv",
	"entry.server", "entry.handler"}

// Merged is the result of merging an imported tool into its file.
type Merged struct {
	Data []byte
	// Kept are the paths of fields that the source has with another value, and the file keeps as
	// people wrote them.
	Kept []string
	// Foreign is set if the file is not from an earlier import of the same source.
	Foreign bool
}

// Merge merges an imported tool into the file that it was imported to earlier. What people added or
// changed stays, as do their comments; what they left as it was imported follows the source.
// explicit are the paths of fields that the import sets whatever the file has. A foreign file keeps
// only the fields that do not say what the tool is.
func Merge(old, imported []byte, explicit []string) (Merged, error) {
	into, err := documentOf(withoutHeader(old))
	if err != nil {
		return Merged{Foreign: true, Data: imported}, nil
	}
	from, err := documentOf(imported)
	if err != nil {
		return Merged{}, err
	}
	m := merger{old: fieldsOf(into.Content[0]), new: fieldsOf(from.Content[0]), explicit: explicit,
		doc: into, into: into.Content[0]}
	var known bool
	m.known, known = recordIn(old)
	result := Merged{Foreign: !known || m.otherSource()}
	if result.Foreign {
		m.know()
	}
	m.merge()
	result.Kept = m.kept
	if !m.changed && !result.Foreign && bytes.Equal(recordLine.Find(old),
		recordLine.Find(imported)) {
		result.Data = old
		return result, nil
	}
	result.Data, err = m.file(imported)
	return result, err
}

// know takes the fields of a foreign file that say what the tool is for imported ones.
func (m *merger) know() {
	m.known = recorded{}
	for _, f := range m.old {
		if decides(f.path) {
			m.known[f.digest()] = true
		}
	}
}

// decides reports whether a field says what a tool is and how it is reached.
func decides(path string) bool {
	switch path {
	case "name", "version", "description", "parameters", "input_schema", "output",
		"output_schema":
		return true
	case "entry.session", "entry.on_loss", "entry.idle_timeout", "entry.scope",
		"entry.answer_within":
		return false
	}
	return strings.HasPrefix(path, "entry.")
}

// merger merges the fields of two files.
type merger struct {
	old, new []specField
	explicit []string
	known    recorded
	// doc is the file's document, into its mapping.
	doc, into *yaml.Node
	kept      []string
	changed   bool
}

// otherSource reports whether the file was imported from elsewhere.
func (m *merger) otherSource() bool {
	return slices.ContainsFunc(sourceFields, func(path string) bool {
		before, had := find(m.old, path)
		now, has := find(m.new, path)
		if !had {
			return has
		}
		return m.known[before.digest()] && (!has || plainValue(before.value) !=
			plainValue(now.value))
	})
}

func (m *merger) merge() {
	for _, now := range m.new {
		m.mergeField(now)
	}
	for _, before := range m.old {
		if _, has := find(m.new, before.path); !has && m.known[before.digest()] {
			m.remove(before.path)
		}
	}
}

// mergeField takes a field of the source, or keeps what people wrote in its place.
func (m *merger) mergeField(now specField) {
	before, had := find(m.old, now.path)
	explicit := slices.Contains(m.explicit, now.path)
	switch {
	case had && plainValue(before.value) == plainValue(now.value):
	case explicit, had && m.known[before.digest()], now.path == "entry.pin":
		m.set(now)
	case m.known[now.digest()]: // people removed or changed it
	case had:
		m.kept = append(m.kept, now.path)
	default:
		m.set(now)
	}
}

// holder returns the mapping that has the field of a path, and the field's key in it.
func (m *merger) holder(path string) (*yaml.Node, string) {
	section, key, nested := strings.Cut(path, ".")
	if !nested {
		return m.into, path
	}
	if i := keyIndex(m.into, section); i >= 0 {
		return m.into.Content[i+1], key
	}
	holder := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	m.into.Content = append(m.into.Content, plainScalar(section), holder)
	return holder, key
}

func keyIndex(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func (m *merger) set(f specField) {
	m.changed = true
	holder, key := m.holder(f.path)
	if i := keyIndex(holder, key); i >= 0 {
		f.value.HeadComment, f.value.LineComment = holder.Content[i+1].HeadComment,
			holder.Content[i+1].LineComment
		holder.Content[i+1] = f.value
		return
	}
	holder.Content = append(holder.Content, plainScalar(key), f.value)
}

func (m *merger) remove(path string) {
	m.changed = true
	holder, key := m.holder(path)
	if i := keyIndex(holder, key); i >= 0 {
		holder.Content = slices.Delete(holder.Content, i, i+2)
	}
}

// file returns the merged file: the header of the import, then the file.
func (m *merger) file(imported []byte) ([]byte, error) {
	var b bytes.Buffer
	for line := range strings.Lines(string(imported)) {
		if !headerLine.MatchString(line) {
			break
		}
		b.WriteString(line)
	}
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(m.doc)
	return b.Bytes(), err
}

// withoutHeader removes the comments of earlier imports.
func withoutHeader(data []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(data) {
		if !headerLine.Match(line) {
			b.Write(line)
		}
	}
	return b.Bytes()
}
