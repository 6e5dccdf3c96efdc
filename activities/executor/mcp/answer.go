package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// maxInline bounds an image or another binary part inside the answer, in bytes; larger ones are
// stored in a file.
const maxInline = 4 << 10

// mcpPart is one part of an answer that is not only text. It has the fields of MCP's content, and
// the location of bytes that are stored in a file.
type mcpPart struct {
	Type        string `json:"type"`
	Text        string `json:"text,omitempty"`
	URI         string `json:"uri,omitempty"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        *int64 `json:"size,omitempty"`
	// Data are the bytes, in base64.
	Data []byte `json:"data,omitempty"`
	*storedFile
}

// toAnswer converts a tool's answer to one JSON value. If the tool reports a failure, it returns a
// plain error.
func (m *Executor) toAnswer(got mcpclient.Answer, spec *toolspecs.Spec) (executor.Answer, error) {
	text, isText := joinedText(got.Content)
	if got.IsError {
		return executor.Answer{}, toolFailure(got, text)
	}
	var answer executor.Answer
	var err error
	switch {
	case got.Structured != nil:
		answer.Output = json.RawMessage(strings.ToValidUTF8(string(got.Structured), "\uFFFD"))
		answer.Notes = m.noteBytes(got.Content)
		return answer, nil
	case isText:
		answer.Output, err = jsonvalue.Encode(strings.ToValidUTF8(text, "\uFFFD"))
	default:
		answer.Output, err = m.EncodeParts(got.Content, spec.Execution.MaxResult)
	}
	answer.Notes = noteUnreadable(got.Content)
	return answer, err
}

// noteUnreadable returns notes about the parts that cannot be read and are passed on as JSON.
func noteUnreadable(content []mcp.Content) []string {
	var notes []string
	for _, part := range content {
		if kind, ok := mcpclient.Unreadable(part); ok {
			notes = append(notes, fmt.Sprintf("a part of the answer, of the type %q, cannot be read; "+
				"it is passed on as JSON", kind))
		}
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

// joinedText returns the text parts, each on separate lines, and whether a text is the right form
// for the answer: there are no other parts, and none that cannot be read and is large.
func joinedText(content []mcp.Content) (text string, all bool) {
	var texts []string
	large := false
	for _, part := range content {
		if t, ok := part.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
			_, odd := mcpclient.Unreadable(t)
			large = large || odd && len(t.Text) > maxInline
		}
	}
	return strings.Join(texts, "\n"), !large && len(texts) == len(content)
}

// toolFailure returns the tool's own description of its failure.
func toolFailure(got mcpclient.Answer, text string) error {
	if text == "" {
		text = string(got.Structured)
	}
	if text == "" {
		text = "the tool says that it failed, and not why"
	}
	return errors.New(text)
}

// EncodeParts encodes an answer's parts; what is too large for the result is stored in files.
func (m *Executor) EncodeParts(content []mcp.Content, limit int) (json.RawMessage, error) {
	for _, inline := range []int{maxInline, 0} {
		parts := make([]mcpPart, len(content))
		for i, c := range content {
			parts[i] = m.toPart(c, inline)
		}
		output, err := jsonvalue.Encode(parts)
		if err != nil || inline == 0 || limit <= 0 || len(output) <= limit {
			return output, err
		}
	}
	return nil, nil
}

func (m *Executor) toPart(content mcp.Content, inline int) mcpPart {
	switch c := content.(type) {
	case *mcp.TextContent:
		if _, odd := mcpclient.Unreadable(c); odd && len(c.Text) > inline {
			return m.bytesPart(mcpPart{Type: "unknown", MIMEType: "application/json"}, []byte(c.Text),
				inline)
		}
		return mcpPart{Type: "text", Text: c.Text}
	case *mcp.ImageContent:
		return m.bytesPart(mcpPart{Type: "image", MIMEType: c.MIMEType}, c.Data, inline)
	case *mcp.AudioContent:
		return m.bytesPart(mcpPart{Type: "audio", MIMEType: c.MIMEType}, c.Data, inline)
	case *mcp.ResourceLink:
		return mcpPart{Type: "resource_link", URI: c.URI, Name: c.Name, Title: c.Title,
			Description: c.Description, MIMEType: c.MIMEType, Size: c.Size}
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return mcpPart{Type: "resource"}
		}
		part := mcpPart{Type: "resource", URI: c.Resource.URI, MIMEType: c.Resource.MIMEType,
			Text: c.Resource.Text}
		return m.bytesPart(part, c.Resource.Blob, inline)
	default:
		return mcpPart{Type: "unknown",
			Text: fmt.Sprintf("a part of the kind %T that this version does not know", content)}
	}
}

// bytesPart adds bytes to a part, inline if they are small, or else as a reference to a file.
func (m *Executor) bytesPart(part mcpPart, data []byte, inline int) mcpPart {
	switch {
	case len(data) == 0:
	case len(data) <= inline:
		part.Data = data
	default:
		stored := m.store(data, part.MIMEType)
		part.storedFile = &stored
	}
	return part
}

// noteBytes stores the binary parts beside structured content, and returns notes with their
// locations.
func (m *Executor) noteBytes(content []mcp.Content) []string {
	var notes []string
	for _, c := range content {
		if part := m.toPart(c, 0); part.storedFile != nil {
			notes = append(notes, fmt.Sprintf("the answer also has %s (%s): %s", part.Type,
				part.MIMEType, part.storedFile))
		}
	}
	return notes
}
