package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// The tools of the gateway itself. A tool of the catalog with such a name is not offered.
const (
	getResult = api.GetResult
	callTool  = api.CallTool
	findTools = api.FindTools
)

var builtins = []string{getResult, callTool, findTools}

func builtin(name string) bool { return slices.Contains(builtins, name) }

// pendingSchema is the schema of the structured result of a call that is pending.
var pendingSchema = json.RawMessage(`{"type":"object","required":["pending_call"],"properties":` +
	`{"pending_call":{"type":"object","description":"the call has not ended; pass call_id to ` +
	`get_result","required":["call_id"],"properties":{"call_id":{"type":"string"},` +
	`"state":{"type":"string"}}}}}`)

func readOnly() *mcp.ToolAnnotations {
	destructive := false
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true,
		DestructiveHint: &destructive}
}

// resultTool is the tool that returns the result of a pending call.
func resultTool() *mcp.Tool {
	return &mcp.Tool{Name: getResult, Annotations: readOnly(),
		Description: "Returns the result of a call that was pending, and waits for it for a while. " +
			"It does not make the call again.",
		InputSchema: json.RawMessage(`{"type":"object","required":["call_id"],"properties":{` +
			`"call_id":{"type":"string","description":"the call_id of the pending call"}}}`)}
}

// searchTools are listed in place of a large catalog.
func searchTools() []*mcp.Tool {
	return []*mcp.Tool{
		{Name: callTool, Description: "Calls a tool that find_tools returned.",
			InputSchema: json.RawMessage(`{"type":"object","required":["name"],"properties":{` +
				`"name":{"type":"string","description":"the name of the tool"},"arguments":{` +
				`"type":"object","description":"its arguments, according to its input_schema"}}}`)},
		{Name: findTools, Annotations: readOnly(),
			Description: "Searches the tools of this server by what they do. There are more tools " +
				"than you see. Call what is found with call_tool.",
			InputSchema: json.RawMessage(`{"type":"object","required":["query"],"properties":{` +
				`"query":{"type":"string","description":"what the tool should do, in English, ` +
				`such as: create an invoice"},"limit":{"type":"integer","minimum":1,"maximum":20,` +
				`"description":"how many tools to return; default 5"}}}`)},
		resultTool(),
	}
}

// foundTool is a tool that find_tools found.
type foundTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// findTools searches the tools that the caller may use.
func (r *request) findTools(args json.RawMessage) (mcp.Result, error) {
	in := struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}{Limit: 5}
	if err := json.Unmarshal(args, &in); err != nil || strings.TrimSpace(in.Query) == "" {
		return r.failure(api.Errorf(api.ErrValidation, "query is missing or is no text")), nil
	}
	all, err := r.selection()
	if err != nil {
		return nil, err
	}
	found := []foundTool{}
	for _, i := range r.search.of(all).Search(in.Query, min(max(in.Limit, 1), 20)) {
		found = append(found, foundTool{all[i].Spec.Name, all[i].Spec.Description,
			all[i].InputSchema()})
	}
	output, err := jsonvalue.Encode(map[string]any{"tools": found, "searched": len(all)})
	if err != nil {
		return nil, err
	}
	return r.result(&callResult{Content: []mcp.Content{&mcp.TextContent{
		Text: string(output)}}, StructuredContent: output}), nil
}

// find returns the tool with that name among those that the caller may use.
func (r *request) find(name string) (*toolspecs.Compiled, error) {
	all, err := r.selection()
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if t.Spec.Name == name {
			return t, nil
		}
	}
	return nil, invalid(fmt.Sprintf("unknown tool %q", display.Shorten(name, 100)))
}

// inner returns the call that a call of call_tool makes.
func inner(args json.RawMessage) (name string, arguments json.RawMessage, fault *api.Error) {
	var in struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(args, &in) != nil || in.Name == "" || builtin(in.Name) {
		return "", nil, api.Errorf(api.ErrValidation,
			"name is missing or is not that of a tool that find_tools returns")
	}
	return in.Name, in.Arguments, nil
}
