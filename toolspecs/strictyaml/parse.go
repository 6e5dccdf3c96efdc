package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
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
	// more counts the faults beyond maxFaults.
	more int
}

// maxFaults bounds the faults of a document. Nobody reads more of them.
const maxFaults = 1000

// Parse returns the documents of a file that are not empty. The faults are those of the text itself: not UTF-8,
// larger than maxBytes, syntax, repeated keys, aliases that grow beyond measure. A file without any document is a
// fault.
func Parse(file string, data []byte, maxBytes int) ([]*Document, Faults) {
	if fault := checkText(data, maxBytes); fault != nil {
		fault.File = file
		return nil, Faults{*fault}
	}
	roots, err := readNodes(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return nil, Faults{syntaxFault(file, string(data), err)}
	}
	var docs []*Document
	var faults Faults
	for _, root := range roots {
		if isEmpty(root) {
			continue
		}
		s := structure{file: file, sizes: map[*yaml.Node]int{}}
		s.checkRoot(root)
		faults = append(faults, s.faults...)
		docs = append(docs, &Document{file: file, root: root, faulty: map[[2]int]bool{}})
	}
	if len(faults) > 0 {
		return nil, faults
	}
	if len(docs) == 0 {
		return nil, Faults{{File: file, Line: 1, Column: 1, Message: "the file is empty"}}
	}
	return docs, nil
}

// ParseOne is Parse for files that hold exactly one document.
func ParseOne(file string, data []byte, maxBytes int) (*Document, Faults) {
	docs, faults := Parse(file, data, maxBytes)
	if len(faults) > 0 {
		return nil, faults
	}
	if len(docs) > 1 {
		return nil, Faults{{File: file, Line: docs[1].root.Line, Column: docs[1].root.Column,
			Message: "a second document begins here; this kind of file holds one", Hint: "put each into a file of its own"}}
	}
	return docs[0], nil
}

func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == tagNull && n.Value == ""
}

func checkText(data []byte, maxBytes int) *Fault {
	if len(data) > maxBytes {
		return &Fault{Line: 1, Column: 1, Message: fmt.Sprintf("the file has %d bytes; at most %d are allowed", len(data), maxBytes)}
	}
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return &Fault{Line: 1, Column: 1, Message: "the file is encoded as UTF-16", Hint: "save it as UTF-8"}
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

func checkRune(r rune, size int, first byte) (message, hint string) {
	switch {
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf("byte 0x%02x is not valid UTF-8", first), "save the file as UTF-8"
	case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
		return fmt.Sprintf("control character U+%04X", r), fmt.Sprintf(`is this a text file? within double quotes write \u%04x`, r)
	}
	return "", ""
}

func position(data []byte, offset int) (line, column int) {
	before := data[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// readNodes parses all documents. The parser has internal checks that panic on rare texts; these become errors.
func readNodes(data []byte) (roots []*yaml.Node, err error) {
	if root, ok := readJSON(data); ok {
		return []*yaml.Node{root}, nil
	}
	defer func() {
		if r := recover(); r != nil {
			roots, err = nil, fmt.Errorf("the parser gave up: %v", r)
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

// syntaxLine is where the YAML library puts the line; it has no field for it.
var syntaxLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s:.*))$`)

func syntaxFault(file, text string, err error) Fault {
	m := syntaxLine.FindStringSubmatch(err.Error())
	fault := Fault{File: file, Line: 1, Column: 1, Message: "this is not YAML: " + m[2], Hint: syntaxHint(m[2])}
	if n, convErr := strconv.Atoi(m[1]); convErr == nil {
		fault.Line = n
		if strings.HasPrefix(m[2], "did not find expected") {
			// The library counts lines from 0 in errors of its parser, from 1 in those of its scanner.
			fault.Line++
		}
	}
	lines := strings.Split(text, "\n")
	fault.Line = min(fault.Line, len(lines))
	line := lines[fault.Line-1]
	fault.Column = 1 + len(line) - len(strings.TrimLeft(line, " "))
	return fault
}

func syntaxHint(message string) string {
	switch {
	case strings.Contains(message, "cannot start any token"):
		return "indent with spaces, not tabs, and put text that begins with a special character in quotes"
	case strings.Contains(message, "mapping values are not allowed"):
		return "put text that contains a colon in quotes, and check the indentation"
	case strings.Contains(message, "did not find expected"), strings.Contains(message, "could not find expected"):
		return "check the indentation and the brackets from this line on"
	case strings.Contains(message, "found unexpected end of stream"):
		return "a quote or bracket is not closed"
	case strings.Contains(message, "incompatible YAML document"), strings.Contains(message, "directive"):
		return "remove the lines that begin with %"
	}
	return ""
}
