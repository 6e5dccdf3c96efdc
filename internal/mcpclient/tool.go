package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Tool is a tool as its server lists it. Its schemas are whatever JSON the server sent, keys
// sorted; they need not be usable schemas.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// ReadOnly and Idempotent are the server's hints. Nothing checks them, and servers are wrong
	// about them: they are for people to read and never relax retries.
	ReadOnly   bool `json:"readOnly,omitempty"`
	Idempotent bool `json:"idempotent,omitempty"`
	// TaskSupport says whether the tool is called as a task. It is not part of the digest.
	TaskSupport TaskSupport `json:"taskSupport,omitempty"`
	// Ambiguous is set if the server lists different tools of this name.
	Ambiguous bool `json:"ambiguous,omitempty"`

	digest string
	// tooDeep is set if a schema of the tool is too deep to be read, unreadable if the whole tool
	// cannot be read.
	tooDeep, unreadable bool
}

func newTool(remote *mcp.Tool) Tool {
	t := Tool{Name: remote.Name, Title: remote.Title, Description: remote.Description,
		InputSchema: canonical(remote.InputSchema), OutputSchema: canonical(remote.OutputSchema),
		TaskSupport: taskSupport(remote)}
	if a := remote.Annotations; a != nil {
		t.ReadOnly, t.Idempotent = a.ReadOnlyHint, a.IdempotentHint
	}
	t.digest, t.tooDeep = computeDigest(t), isCut(t.InputSchema) || isCut(t.OutputSchema)
	t.unreadable = remote.Meta[toolKey] != nil
	return t
}

// canonical returns the canonical JSON of a decoded schema; nothing for nil. A schema that nests
// too deep for it stays as encoding/json writes it, which also sorts keys.
func canonical(schema any) json.RawMessage {
	if schema == nil {
		return nil
	}
	data, err := jsonvalue.Encode(schema)
	if err != nil {
		return nil
	}
	if tidy, err := jsontext.Canonical(string(data)); err == nil {
		return tidy
	}
	return data
}

// Digest returns the digest that a toolspec pins: "sha256:" and the SHA-256, in hexadecimal, of the
// canonical JSON of the tool's name, description, input schema and, if present, output schema.
// Title and hints are not part of it.
func (t Tool) Digest() string {
	if t.digest == "" {
		return computeDigest(t)
	}
	return t.digest
}

func computeDigest(t Tool) string {
	// A struct of strings and JSON that the server sent can always be encoded.
	data, _ := jsonvalue.Encode(struct {
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
		Name         string          `json:"name"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	}{t.Description, t.InputSchema, t.Name, t.OutputSchema})
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
