package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// checkJSON reports why the content of a .json file is not JSON. It ignores empty files.
func checkJSON(file string, data []byte) *Fault {
	if !strings.EqualFold(filepath.Ext(file), ".json") || len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	if err == nil {
		return nil
	}
	fault := &Fault{File: file, Line: 1, Column: 1, Message: "this is not JSON: " + err.Error(),
		Hint: "check the quotes, commas and brackets"}
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return fault
	}
	// The offset counts the bytes read, the wrong one included.
	at := min(max(int(syntax.Offset)-1, 0), len(data))
	if before := bytes.TrimRight(data[:at], " \t\r\n"); bytes.HasSuffix(before, []byte(",")) &&
		at < len(data) && strings.IndexByte("]}", data[at]) >= 0 {
		fault.Hint = "remove the comma before it"
	}
	fault.Line, fault.Column = position(data, at)
	return fault
}

// readJSON reads a file that is a JSON object or array. The YAML library does not take all JSON:
// tabs before a bracket, \/ and escaped surrogate pairs are errors to it.
func readJSON(data []byte) (*yaml.Node, bool) {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' || !json.Valid(data) {
		return nil, false
	}
	r := jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1, column: 1}
	r.decoder.UseNumber()
	return r.value(), true
}

// jsonReader makes nodes of JSON that is known to be valid.
type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	// at is the offset that line and column belong to.
	at, line, column int
}

func (r *jsonReader) value() *yaml.Node {
	n := &yaml.Node{}
	n.Line, n.Column = r.next()
	// The text is valid, so there is a token and no error.
	token, _ := r.decoder.Token()
	switch v := token.(type) {
	case json.Delim:
		r.composite(n, v)
	case string:
		n.Kind, n.Tag, n.Value, n.Style = yaml.ScalarNode, tagString, v, yaml.DoubleQuotedStyle
	case json.Number:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, tagInt, string(v)
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = tagFloat
		}
	case bool:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, tagBool, "false"
		if v {
			n.Value = "true"
		}
	default:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, tagNull, "null"
	}
	return n
}

func (r *jsonReader) composite(n *yaml.Node, opening json.Delim) {
	n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
	if opening == '{' {
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
	}
	for r.decoder.More() {
		n.Content = append(n.Content, r.value())
	}
	_, _ = r.decoder.Token()
}

// next returns the position of the next token.
func (r *jsonReader) next() (line, column int) {
	start := int(r.decoder.InputOffset())
	for start < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[start]) >= 0 {
		start++
	}
	passed := r.data[r.at:start]
	if i := bytes.LastIndexByte(passed, '\n'); i >= 0 {
		r.line += bytes.Count(passed, []byte("\n"))
		r.column, passed = 1, passed[i+1:]
	}
	r.column += utf8.RuneCount(passed)
	r.at = start
	return r.line, r.column
}
