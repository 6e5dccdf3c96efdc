package strictyaml

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"gopkg.in/yaml.v3"
)

// Short tags of YAML scalars.
const (
	tagNull      = "!!null"
	tagBool      = "!!bool"
	tagString    = "!!str"
	tagInt       = "!!int"
	tagFloat     = "!!float"
	tagTimestamp = "!!timestamp"
	tagMerge     = "!!merge"
)

// writeJSON appends n as JSON, with keys in the order of the document. It reports values without a
// JSON form.
func (d *Document) writeJSON(b *bytes.Buffer, n *yaml.Node) {
	n = deref(n)
	switch n.Kind {
	case yaml.MappingNode:
		d.writeObject(b, n)
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			d.writeJSON(b, c)
		}
		b.WriteByte(']')
	default:
		d.writeScalar(b, n)
	}
}

func (d *Document) writeObject(b *bytes.Buffer, n *yaml.Node) {
	b.WriteByte('{')
	list, misplaced := entries(n)
	d.reportMisplaced(misplaced)
	for i, e := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		key := deref(e.key)
		if key.ShortTag() == tagNull && key.Style == 0 {
			d.fault(e.key, "a key is missing here", "")
		}
		writeString(b, key.Value)
		b.WriteByte(':')
		d.writeJSON(b, e.value)
	}
	b.WriteByte('}')
}

func (d *Document) reportMisplaced(nodes []*yaml.Node) {
	for _, n := range nodes {
		d.fault(n, "<< merges mappings, but this is not a mapping",
			`put "<<" in quotes where it is meant as a key`)
	}
}

func (d *Document) writeScalar(b *bytes.Buffer, n *yaml.Node) {
	switch tag := n.ShortTag(); tag {
	case tagNull:
		b.WriteString("null")
	case tagBool:
		b.WriteString(strconv.FormatBool(strings.EqualFold(n.Value, "true")))
	case tagString, tagTimestamp, tagMerge:
		if n.Style == 0 && jsonNumber.MatchString(n.Value) {
			d.fault(n, fmt.Sprintf("the number %s is too large for YAML, which reads it as text",
				display.Shorten(n.Value, 40)), "write a smaller number, or put text in quotes")
		}
		writeString(b, n.Value)
	case tagInt, tagFloat:
		number, hint := numberText(n.Value)
		if hint != "" {
			d.fault(n, fmt.Sprintf("%s is not a JSON number", n.Value), hint)
			number = "0"
		}
		b.WriteString(number)
	default:
		// The tag has been reported.
		b.WriteString("null")
	}
}

func writeString(b *bytes.Buffer, s string) {
	// The text was checked to be UTF-8, so that encoding a string cannot fail.
	data, _ := jsonvalue.Encode(s)
	b.Write(data)
}

var (
	jsonNumber  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	leadingZero = regexp.MustCompile(`^[-+]?0[0-9_]`)
)

// numberText returns a YAML number as a JSON number, every digit kept, or else a hint on what to
// write instead.
func numberText(text string) (number, hint string) {
	if jsonNumber.MatchString(text) {
		return text, ""
	}
	if leadingZero.MatchString(text) {
		return "", "numbers with a leading zero are ambiguous; remove the zero, or put text in quotes"
	}
	plain := strings.ReplaceAll(text, "_", "")
	if i, ok := new(big.Int).SetString(plain, 0); ok {
		return i.String(), ""
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "", "write a finite number, or put text in quotes"
	}
	return strconv.FormatFloat(f, 'g', -1, 64), ""
}
