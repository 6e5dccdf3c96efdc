package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Document is one YAML document of a file, with the faults found in it so far.
type Document struct {
	file   string
	root   *yaml.Node
	faults Faults
	// faulty are the lines and columns that have a fault.
	faulty map[[2]int]bool
	// secret has the nodes whose text must not appear in faults.
	secret map[*yaml.Node]bool
	// variants has the values of the nodes whose fields depend on their type.
	variants map[*yaml.Node]Variant
	// more counts the faults beyond maxFaults.
	more int
}

// maxFaults bounds the faults of a document.
const maxFaults = 1000

// Parse returns the non-empty documents of a file. The faults are those that prevent reading: not
// UTF-8, larger than maxBytes, syntax errors, excessive aliases. Other faults, such as repeated
// keys, belong to their documents. A file without a document is a fault. A file whose name ends in
// .json must be JSON.
func Parse(file string, data []byte, maxBytes int) ([]*Document, Faults) {
	if fault := checkText(data, maxBytes); fault != nil {
		fault.File = file
		return nil, Faults{*fault}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if fault := checkJSON(file, data); fault != nil {
		return nil, Faults{*fault}
	}
	roots, err := readNodes(data)
	if err != nil {
		return nil, Faults{syntaxFault(file, string(data), err)}
	}
	var docs []*Document
	var faults Faults
	for _, root := range roots {
		if isEmpty(root) {
			continue
		}
		s := structure{doc: newDocument(file, root), sizes: map[*yaml.Node]int{}}
		s.checkRoot(root)
		if s.unreadable {
			faults = append(faults, s.doc.Faults()...)
			continue
		}
		docs = append(docs, s.doc)
	}
	if len(docs) == 0 && len(faults) == 0 {
		return nil, Faults{{File: file, Line: 1, Column: 1, Message: "the file is empty"}}
	}
	return docs, faults
}

func newDocument(file string, root *yaml.Node) *Document {
	return &Document{file: file, root: root, faulty: map[[2]int]bool{},
		secret: map[*yaml.Node]bool{}, variants: map[*yaml.Node]Variant{}}
}

// ParseOne is Parse for files that hold exactly one document.
func ParseOne(file string, data []byte, maxBytes int) (*Document, Faults) {
	docs, faults := Parse(file, data, maxBytes)
	if len(faults) > 0 {
		return nil, faults
	}
	if len(docs) > 1 {
		return nil, Faults{{File: file, Line: docs[1].root.Line, Column: docs[1].root.Column,
			Message: "a second document starts here; this kind of file has one",
			Hint:    "put each document into its own file"}}
	}
	return docs[0], nil
}

func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == tagNull && n.Value == ""
}

func checkText(data []byte, maxBytes int) *Fault {
	if len(data) > maxBytes {
		return &Fault{Line: 1, Column: 1,
			Message: fmt.Sprintf("the file is larger than the maximum of %s",
				sizeText(maxBytes)),
			Hint: "split it into smaller files"}
	}
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return &Fault{Line: 1, Column: 1, Message: "the file is encoded as UTF-16",
			Hint: "save it as UTF-8"}
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		message, hint := checkRune(r, size, data[i])
		if message != "" {
			line, column := position(data, i)
			return &Fault{Line: line, Column: column, Message: message, Hint: hint}
		}
		i += size
	}
	return nil
}

// sizeText returns a number of bytes in MiB where it is a whole number of them.
func sizeText(bytes int) string {
	const mebi = 1 << 20
	if bytes%mebi == 0 {
		return fmt.Sprintf("%d MiB", bytes/mebi)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

func checkRune(r rune, size int, first byte) (message, hint string) {
	switch {
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf("byte 0x%02x is not valid UTF-8", first), "save the file as UTF-8"
	case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
		return fmt.Sprintf("control character U+%04X", r),
			fmt.Sprintf(`is this a text file? within double quotes write \u%04x`, r)
	}
	return "", ""
}

func position(data []byte, offset int) (line, column int) {
	before := data[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// readNodes parses all documents. The parser has internal checks that panic on rare texts; these
// become errors.
func readNodes(data []byte) (roots []*yaml.Node, err error) {
	if root, ok := readJSON(data); ok {
		return []*yaml.Node{root}, nil
	}
	defer func() {
		if r := recover(); r != nil {
			roots, err = nil, fmt.Errorf("the parser failed: %v", r)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			return nil, err
		}
		roots = append(roots, doc.Content...)
	}
}
