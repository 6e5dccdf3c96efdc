package gateway

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
)

// The types of results in the revision without sessions.
const (
	resultComplete      = "complete"
	resultInputRequired = "input_required"
	resultTask          = "task"
)

// callResult is the result of tools/call. The SDK's own type does not let handlers that bypass its
// tools set the type of the result.
type callResult struct {
	mcp.ResultBase
	ResultType        string          `json:"resultType,omitempty"`
	Content           []mcp.Content   `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
}

// result completes a result for the client's revision.
func (r *request) result(res *callResult) *callResult {
	if r.modern() {
		res.ResultType = resultComplete
	}
	return res
}

// failure returns the result of a call that failed.
func (r *request) failure(e *api.Error) *callResult {
	res := r.result(&callResult{IsError: true,
		Content: []mcp.Content{&mcp.TextContent{Text: e.ForModel()}}})
	about := map[string]any{"type": e.Type, "retryable": e.Retryable}
	if len(e.Problems) > 0 {
		about["problems"] = e.Problems
	}
	res.SetMeta(map[string]any{errorKey: about})
	return res
}

// outcome returns the result for the outcome of the call.
func (c *openCall) outcome(o *api.CallOutcome) *callResult {
	var res *callResult
	switch {
	case o.Error != nil:
		res = c.failure(o.Error)
	case o.Result == nil:
		res = c.failure(api.Errorf(api.ErrOutcomeUnknown, "the call ended without a result"))
	default:
		res = c.result(&callResult{Content: toContent(o.Result)})
		if c.hasSchema() && isObject(o.Result.Output) {
			res.StructuredContent = o.Result.Output
		}
	}
	return c.about(res, map[string]any{"call_id": c.handle()})
}

// pendingResult returns the result of a call that has not ended.
func (c *openCall) pendingResult() *callResult {
	about := map[string]any{"call_id": c.handle(), "state": c.status.State}
	text := fmt.Sprintf("The call is pending: %s. Do not make it again. Its result is returned by "+
		"the tool get_result with {\"call_id\": %q}.", stateText(c.status), c.handle())
	res := c.result(&callResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}})
	if c.hasSchema() {
		res.StructuredContent, _ = json.Marshal(map[string]any{"pending_call": about})
	}
	return c.about(res, about)
}

// hasSchema reports whether the tool was offered with the schema of its results.
func (c *openCall) hasSchema() bool {
	return c.tool != nil && outputSchema(c.tool.OutputSchema()) != nil
}

// repetitionNote tells the model that nothing was executed for its request.
const repetitionNote = "[note: this request repeats an earlier call with the same arguments or " +
	"key. The tool was executed once; this is that call]"

// about adds to a result what is known about the call, and whether it is that of an earlier
// request.
func (c *openCall) about(res *callResult, about map[string]any) *callResult {
	meta := res.GetMeta()
	if meta == nil {
		meta = map[string]any{}
	}
	if c.repeats() {
		about["attached"] = true
		res.Content = append(res.Content, &mcp.TextContent{Text: repetitionNote})
	}
	meta[callKey] = about
	res.SetMeta(meta)
	return res
}

// stateText says what a call waits for.
func stateText(s api.SessionCallStatus) string {
	switch s.State {
	case api.SessionCallAwaitsApproval:
		return "a person has to approve it"
	case api.SessionCallAwaitsAnswer:
		return "a person has to answer a question"
	}
	return "it runs"
}

func isObject(value json.RawMessage) bool {
	for _, c := range value {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == '{'
		}
	}
	return false
}

// part is a part of the answer of an MCP server, as workers encode it.
type part struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
	Size        *int64 `json:"size"`
	Data        []byte `json:"data"`
}

// toContent returns the content of a result: its text for models, or the parts of an answer that is
// not only text.
func toContent(res *api.Result) []mcp.Content {
	var raw []json.RawMessage
	if json.Unmarshal(res.Output, &raw) != nil || len(raw) == 0 || len(res.Notes) > 0 {
		return []mcp.Content{&mcp.TextContent{Text: res.ForModel()}}
	}
	content := make([]mcp.Content, len(raw))
	for i, data := range raw {
		var p part
		if json.Unmarshal(data, &p) != nil {
			return []mcp.Content{&mcp.TextContent{Text: res.ForModel()}}
		}
		if content[i] = p.content(); content[i] == nil {
			return []mcp.Content{&mcp.TextContent{Text: res.ForModel()}}
		}
	}
	return content
}

// content returns the part as MCP's content; nil if it is none.
func (p part) content() mcp.Content {
	switch p.Type {
	case "text":
		return &mcp.TextContent{Text: p.Text}
	case "resource_link":
		return &mcp.ResourceLink{URI: p.URI, Name: p.Name, Title: p.Title,
			Description: p.Description, MIMEType: p.MIMEType, Size: p.Size}
	case "resource":
		if p.Text != "" {
			return p.toResource()
		}
	}
	if p.Data == nil { // its bytes are in a file of the worker
		return nil
	}
	switch p.Type {
	case "image":
		return &mcp.ImageContent{Data: p.Data, MIMEType: p.MIMEType}
	case "audio":
		return &mcp.AudioContent{Data: p.Data, MIMEType: p.MIMEType}
	case "resource":
		return p.toResource()
	}
	return nil
}

func (p part) toResource() mcp.Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: p.URI,
		MIMEType: p.MIMEType, Text: p.Text, Blob: p.Data}}
}
