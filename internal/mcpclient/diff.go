package mcpclient

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// maxShown bounds how much of a value a Change shows, in bytes.
const maxShown = 300

// Change is one difference between a toolspec and the server's tool. Values are JSON, shortened and
// made safe for terminals; "" means absent.
type Change struct {
	// Path is where in the toolspec: "$.description", "$.input_schema.properties.path.type".
	Path     string
	Was, Now string
}

func (c Change) String() string {
	switch {
	case c.Was == "":
		return fmt.Sprintf("%s is new: %s", c.Path, c.Now)
	case c.Now == "":
		return fmt.Sprintf("%s is removed; it was %s", c.Path, c.Was)
	default:
		return fmt.Sprintf("%s was %s, is now %s", c.Path, c.Was, c.Now)
	}
}

// Diff returns the differences between a tool as declared by a toolspec and as listed by its
// server: description, input schema and output schema, in this order. Within schemas it returns the
// smallest differing parts, sorted by path. A toolspec edited by hand differs from the server's
// tool even if the server has not changed it; compare Digest to tell.
func Diff(declared, remote Tool) []Change {
	var d differ
	// A toolspec may describe a tool that its server does not describe.
	if now := strings.TrimSpace(remote.Description); now != "" {
		d.compare("$.description", strings.TrimSpace(declared.Description), now)
	}
	d.schemas("$.input_schema", declared.InputSchema, remote.InputSchema)
	d.schemas("$.output_schema", declared.OutputSchema, remote.OutputSchema)
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) schemas(path string, was, now json.RawMessage) {
	d.compare(path, decoded(was), decoded(now))
}

// absent represents a missing value; nil is JSON's null.
type absent struct{}

func decoded(data json.RawMessage) any {
	if len(data) == 0 {
		return absent{}
	}
	value, err := jsonvalue.Decode(data)
	if err != nil {
		return string(data)
	}
	return value
}

func (d *differ) compare(path string, was, now any) {
	if a, ok := was.(map[string]any); ok {
		if b, ok := now.(map[string]any); ok {
			d.objects(path, a, b)
			return
		}
	}
	if a, b := shown(was), shown(now); a != b {
		from := commonStart(a, b)
		d.changes = append(d.changes, Change{Path: path, Was: cut(a, from), Now: cut(b, from)})
	}
}

func (d *differ) objects(path string, was, now map[string]any) {
	keys := slices.Collect(maps.Keys(was))
	for key := range now {
		if _, both := was[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		d.compare(jsonpath.Key(path, key), findMember(was, key), findMember(now, key))
	}
}

func findMember(members map[string]any, key string) any {
	value, ok := members[key]
	if !ok {
		return absent{}
	}
	return value
}

// shown returns a value as JSON in which every character is visible.
func shown(value any) string {
	if value == (absent{}) {
		return ""
	}
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return strconv.QuoteToASCII(fmt.Sprint(value))
	}
	var b strings.Builder
	for _, r := range string(data) {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// commonStart returns how many bytes of two long texts need not be shown because they are the same.
func commonStart(a, b string) int {
	if len(a) <= maxShown && len(b) <= maxShown {
		return 0
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return max(0, n-maxShown/4)
}

// cut returns the text from a byte on, shortened, in whole characters.
func cut(text string, from int) string {
	begin, end := min(from, len(text)), min(from+maxShown, len(text))
	part := strings.ToValidUTF8(text[begin:end], "")
	if begin > 0 && part != "" {
		part = "…" + part
	}
	if end < len(text) {
		part += "…"
	}
	return part
}
