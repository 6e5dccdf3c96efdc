package mcpclient

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The digest depends on name, description and schemas, and not on the notation of the JSON. It
// equals the digest of pinned toolspecs.
func TestDigest_DependsOnTheDeclarationOnly(t *testing.T) {
	base := func() *mcp.Tool {
		return &mcp.Tool{Name: "read", Description: "Reads.",
			InputSchema: map[string]any{"type": "object", "minProperties": 1.0}}
	}
	pin := newTool(base()).Digest()
	if pin != "sha256:fab0d137cc8e860c8d00681b8e1716817fafa8fa46bc5bc70b80c90d2a39e48b" {
		t.Errorf("got %s", pin)
	}
	if again := (Tool{Name: "read", Description: "Reads.",
		InputSchema: json.RawMessage(`{"minProperties":1,"type":"object"}`)}).Digest(); again != pin {
		t.Errorf("the same tool has the digests %s and %s", pin, again)
	}
	for name, change := range map[string]func(*mcp.Tool){
		"name":          func(t *mcp.Tool) { t.Name = "write" },
		"description":   func(t *mcp.Tool) { t.Description = "Writes." },
		"input schema":  func(t *mcp.Tool) { t.InputSchema = map[string]any{"type": "object"} },
		"output schema": func(t *mcp.Tool) { t.OutputSchema = map[string]any{"type": "object"} },
		"no schema":     func(t *mcp.Tool) { t.InputSchema = nil },
		"odd schema":    func(t *mcp.Tool) { t.InputSchema = "a string" },
	} {
		other := base()
		change(other)
		if newTool(other).Digest() == pin {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	titled := base()
	titled.Title, titled.Annotations = "Reader", &mcp.ToolAnnotations{ReadOnlyHint: true}
	if tool := newTool(titled); tool.Digest() != pin || !tool.ReadOnly || tool.Title != "Reader" {
		t.Errorf("got %+v", tool)
	}
}

// The text is readable and bounded.
func TestDiff_ShowsTheSmallestDifference(t *testing.T) {
	long := strings.Repeat("The same. ", 100)
	spec := Tool{Description: "Reads.\n",
		InputSchema: json.RawMessage(
			`{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"integer"},"odd key":{"enum":[1,2]}},"required":["path"]}`),
		OutputSchema: json.RawMessage(`{"type":"object"}`)}
	tests := []struct {
		name   string
		spec   Tool
		remote Tool
		want   []string
	}{
		{"same", spec, Tool{Description: "Reads.", InputSchema: spec.InputSchema,
			OutputSchema: spec.OutputSchema}, nil},
		{"all at once", spec, Tool{Description: "Reads \x1b[31m\u202eall.",
			InputSchema: json.RawMessage(
				`{"type":"object","properties":{"path":{"type":"number"},"odd key":{"enum":[1]},"new":{}},"required":["path","new"]}`)},
			[]string{
				`$.description was "Reads.", is now "Reads \u001b[31m\u202eall."`,
				`$.input_schema.properties.new is new: {}`,
				`$.input_schema.properties["odd key"].enum was [1,2], is now [1]`,
				`$.input_schema.properties.old is removed; it was {"type":"integer"}`,
				`$.input_schema.properties.path.type was "string", is now "number"`,
				`$.input_schema.required was ["path"], is now ["path","new"]`,
				`$.output_schema is removed; it was {"type":"object"}`,
			}},
		{"parameters", Tool{Description: "Reads.",
			InputSchema: json.RawMessage(
				`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`)},
			Tool{Description: "Reads.",
				InputSchema: json.RawMessage(
					`{"additionalProperties":false,"properties":{"path":{"type":"integer"}},"type":"object"}`),
				OutputSchema: json.RawMessage(`{"type":"object"}`)},
			[]string{`$.input_schema.properties.path.type was "string", is now "integer"`,
				`$.output_schema is new: {"type":"object"}`}},
		{"no schema", Tool{Description: "Reads."}, Tool{Description: "Reads.",
			InputSchema: json.RawMessage(`{`)}, []string{`$.input_schema is new: "{"`}},
		{"the end of a long text", Tool{Description: long + "Good.",
			InputSchema: json.RawMessage(`{}`)}, Tool{Description: long + "Bad.",
			InputSchema: json.RawMessage(`{}`)},
			[]string{`$.description was …` + long[len(long)-maxShown/4:] + `Good.", is now …` +
				long[len(long)-maxShown/4:] + `Bad."`}},
		{"a server without information about itself", spec, Tool{InputSchema: spec.InputSchema,
			OutputSchema: spec.OutputSchema}, nil},
	}
	for _, tt := range tests {
		changes := Diff(tt.spec, tt.remote)
		var got []string
		for _, c := range changes {
			got = append(got, c.String())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got\n%s", tt.name, strings.Join(got, "\n"))
		}
	}
}
