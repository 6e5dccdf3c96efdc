package accept

import (
	"errors"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/toolspecs"
)

var remote = mcpclient.Tool{Name: "read", Description: "Reads a file: all of it.",
	InputSchema:  []byte(`{"properties":{"lines":{"maximum":9007199254740993,"type":"integer"},"path":{"description":"# no comment","type":"string"}},"required":["path"],"type":"object"}`),
	OutputSchema: []byte(`{"type":"object"}`)}

func accept(t *testing.T, file string, pinsOnly bool) string {
	t.Helper()
	got, err := File("tools.yaml", []byte(file), toolspecs.Options{},
		map[string]mcpclient.Tool{"read": remote}, pinsOnly)
	if err != nil {
		t.Fatal(err)
	}
	if specs, pinned, err := Decode("tools.yaml", got, toolspecs.Options{}); err != nil ||
		!pinned["read"] {
		t.Fatalf("what was written cannot be read: %v, %v", specs, err)
	}
	return strings.ReplaceAll(string(got), remote.Digest(), "PIN")
}

const schemaText = `input_schema:
  properties:
    lines:
      maximum: 9007199254740993
      type: integer
    path:
      description: '# no comment'
      type: string
  required:
    - path
  type: object
`

// File replaces pin, description and schemas in place and leaves every other line unchanged.
func TestFile_ReplacesPinDescriptionAndSchemas(t *testing.T) {
	tests := []struct {
		name, before, after string
		pinsOnly            bool
	}{
		{name: "block, everything there", before: `# The reader.
name: read   # its name
version: 1.0.0

# What models read.
description: >-
  Reads
  a file.
# Arguments
input_schema:
  # old
  type: object

# How
entry:
  type: mcp
  argv: [server, "a b"]   # the server

  pin: sha256:1111111111111111111111111111111111111111111111111111111111111111 # do not edit
  # Its session
  session: run
tags:
- a
- b
`, after: `# The reader.
name: read   # its name
version: 1.0.0

# What models read.
description: 'Reads a file: all of it.'
# Arguments
` + schemaText + `
# How
entry:
  type: mcp
  argv: [server, "a b"]   # the server

  pin: PIN # do not edit
  # Its session
  session: run
tags:
- a
- b
`},
		{name: "no pin, parameters, no end of line", before: `name: read
version: 1.0.0
description: "Reads a file: all of it."
parameters:
- {name: path, type: string}
-
  name: lines
  type: integer
entry:
    type: mcp
    argv: [server]
# the end`, after: `name: read
version: 1.0.0
description: "Reads a file: all of it."
` + schemaText + `entry:
    type: mcp
    argv: [server]
    pin: PIN
# the end`},
		{name: "no schema at all, entry in braces, last key", before: `name: read
version: 1.0.0
description: Reads.
entry: {type: mcp, argv: [server]}`, after: `name: read
version: 1.0.0
description: 'Reads a file: all of it.'
entry: {type: mcp, argv: [server], pin: 'PIN'}
` + schemaText},
		{name: "all in braces",
			before: `{name: read, version: 1.0.0, description: Reads., entry: {type: mcp, argv: [server]}}`,
			after: `{name: read, version: 1.0.0, description: Reads., entry: {type: mcp, argv: [server], pin: 'PIN'}}
`, pinsOnly: true},
		{name: "pin only", before: "name: read\nversion: 1.0.0\ndescription: Mine.\nentry:\n  type: mcp\n  argv: [server]\n  pin: abc\n",
			after:    "name: read\nversion: 1.0.0\ndescription: Mine.\nentry:\n  type: mcp\n  argv: [server]\n  pin: PIN\n",
			pinsOnly: true},
		{name: "Windows lines",
			before:   "name: read\r\nversion: 1.0.0\r\ndescription: Mine.\r\nentry:\r\n  type: mcp\r\n  argv: [server]\r\n",
			after:    "name: read\r\nversion: 1.0.0\r\ndescription: Mine.\r\nentry:\r\n  type: mcp\r\n  argv: [server]\r\n  pin: PIN\r\n",
			pinsOnly: true},
		{name: "one of several", before: `# first
name: other
version: 1.0.0
description: |
  Something
    --- else
entry: {type: function, handler: x}
--- # second
name: read
version: 1.0.0
description: 'Reads a file: all of it.'
` + schemaText + `output_schema:
  type: array
entry:
  type: mcp
  argv: [server]
---
# third
name: unpinned
version: 1.0.0
description: Stays as it is.
entry: {type: mcp, argv: [server]}
`, after: `# first
name: other
version: 1.0.0
description: |
  Something
    --- else
entry: {type: function, handler: x}
--- # second
name: read
version: 1.0.0
description: 'Reads a file: all of it.'
` + schemaText + `output_schema:
  type: object
entry:
  type: mcp
  argv: [server]
  pin: PIN
---
# third
name: unpinned
version: 1.0.0
description: Stays as it is.
entry: {type: mcp, argv: [server]}
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := strings.ReplaceAll(tt.after, "'PIN'", "PIN")
			got := strings.ReplaceAll(accept(t, tt.before, tt.pinsOnly), "'PIN'", "PIN")
			if got = strings.ReplaceAll(got, `"PIN"`, "PIN"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if again := strings.ReplaceAll(accept(t, strings.ReplaceAll(tt.after, "PIN",
				remote.Digest()), tt.pinsOnly), `"PIN"`, "PIN"); strings.ReplaceAll(again, "'PIN'",
				"PIN") != want {
				t.Errorf("a second time gives\n%s", again)
			}
		})
	}
}

// File removes an output schema that the server no longer declares.
func TestFile_RemovesOutputSchema(t *testing.T) {
	file := "name: read\nversion: 1.0.0\ndescription: Mine.\noutput_schema:\n  type: array\nentry:\n  type: mcp\n  argv: [server]\n"
	got, err := File("tools.yaml", []byte(file), toolspecs.Options{},
		map[string]mcpclient.Tool{"read": {Name: "read", InputSchema: []byte(`{"type":"object"}`)}},
		false)
	if err != nil || strings.Contains(string(got), "output_schema") ||
		!strings.Contains(string(got), "description: Mine.") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestFile_RefusesInvalidSchemasAndFiles(t *testing.T) {
	const file = "name: read\nversion: 1.0.0\ndescription: Mine.\nentry:\n  type: mcp\n  argv: [server]\n"
	const twoFaults = "tools.yaml:5:3: the server's tool is not accepted: pin is missing (run starter tools accept FILE: it shows the server's tool and writes its pin)\ntools.yaml:7:8: the tag is empty (remove it)"
	for name, tt := range map[string]struct {
		file  string
		tool  mcpclient.Tool
		words string
	}{
		"no schema": {file, mcpclient.Tool{Name: "read", InputSchema: []byte(`"a string"`)},
			"tools.yaml: the current definition of read cannot be accepted: its input schema is not a JSON Schema"},
		"other faults": {file + "tags: [\"\"]\n", remote, twoFaults},
		"not YAML":     {"name: [", remote, "tools.yaml:1:1: this is not YAML: did not find expected node content (check the indentation and the brackets from this line on)"},
		"an alias": {"name: read\nversion: 1.0.0\ndescription: Mine.\nrequires: &e {variables: [a]}\nentry: *e\n",
			remote, "tools.yaml:4:11: type is missing\ntools.yaml:4:15: unknown field \"variables\" (known: type, agent, allow, answer_within, argv, auth, base_url, body, closes, dir, encoding, env, extract, handler, headers, idle_timeout, instance, max_memory, max_output, max_response, …)"},
		"not a mapping": {"- a\n", remote, "tools.yaml:1:1: this must be a mapping, not a list"},
	} {
		_, err := File("tools.yaml", []byte(tt.file), toolspecs.Options{},
			map[string]mcpclient.Tool{"read": tt.tool}, false)
		if err == nil || err.Error() != tt.words {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, _, err := Decode("tools.yaml", []byte(file+"tags: [\"\"]\n"),
		toolspecs.Options{}); err == nil {
		t.Error("a file with faults was read")
	} else if _, ok := errors.AsType[toolspecs.Faults](err); !ok || err.Error() != twoFaults {
		t.Errorf("got %v", err)
	}
}
