package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/gateway/content"
)

// defaultServer is the name of the virtual server at Path itself.
const defaultServer = "default"

// contents returns the prompts and resources of the gateway; nil for none.
func (g *Gateway) contents() *content.Set {
	if g.config.Content == nil {
		return nil
	}
	return g.config.Content()
}

// contentRequest is a message about prompts and resources.
type contentRequest struct {
	*request
	// view are those that the caller gets.
	view *content.View
}

func (g *Gateway) contentRequest(ctx context.Context, req mcp.Request,
	p mcp.Params) *contentRequest {
	r := g.request(ctx, req, p)
	return &contentRequest{r, g.contents().For(cmp.Or(r.http.server, defaultServer),
		r.caller.Claims)}
}

// listedContent is the result of a list of prompts, resources or templates.
type listedContent struct {
	mcp.ResultBase
	mcp.Cacheable
	ResultType string                  `json:"resultType,omitempty"`
	NextCursor string                  `json:"nextCursor,omitempty"`
	Prompts    []*mcp.Prompt           `json:"prompts,omitzero"`
	Resources  []*mcp.Resource         `json:"resources,omitzero"`
	Templates  []*mcp.ResourceTemplate `json:"resourceTemplates,omitzero"`
}

func (r *contentRequest) newList() *listedContent {
	res := &listedContent{Cacheable: mcp.Cacheable{TTLMs: listTTL, CacheScope: "private"}}
	if r.modern() {
		res.ResultType = resultComplete
	}
	return res
}

// listPrompts serves prompts/list.
func (r *contentRequest) listPrompts(p *mcp.ListPromptsParams) (mcp.Result, error) {
	res := r.newList()
	var err error
	res.Prompts, res.NextCursor, err = page(r.view.Prompts, p.Cursor,
		func(p *content.Prompt) string { return p.Name }, toPrompt)
	return res, err
}

func toPrompt(p *content.Prompt) *mcp.Prompt {
	shown := &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
	for _, a := range p.Arguments {
		shown.Arguments = append(shown.Arguments, &mcp.PromptArgument{Name: a.Name, Title: a.Title,
			Description: a.Description, Required: a.Required})
	}
	return shown
}

// promptResult is the result of prompts/get.
type promptResult struct {
	mcp.ResultBase
	ResultType  string               `json:"resultType,omitempty"`
	Description string               `json:"description,omitempty"`
	Messages    []*mcp.PromptMessage `json:"messages"`
}

// getPrompt serves prompts/get.
func (r *contentRequest) getPrompt(p *mcp.GetPromptParams) (mcp.Result, error) {
	prompt, err := r.view.Prompt(p.Name)
	if err != nil {
		return nil, invalid(fmt.Sprintf("unknown prompt %q", short(p.Name)))
	}
	values, missing := collectArguments(prompt, p.Arguments)
	if len(missing) > 0 {
		asked, err := r.askArguments(prompt, p, values, missing)
		if asked != nil || err != nil {
			return asked, err
		}
	}
	res := &promptResult{Description: prompt.Description}
	if r.modern() {
		res.ResultType = resultComplete
	}
	for _, m := range prompt.Messages {
		c, err := r.readMessage(m, values)
		if err != nil {
			return nil, err
		}
		res.Messages = append(res.Messages, &mcp.PromptMessage{Content: c,
			Role: mcp.Role(cmp.Or(m.Role, "user"))})
	}
	return res, nil
}

// collectArguments returns the values of all arguments of a prompt, and those that are required and
// have
// none.
func collectArguments(p *content.Prompt, given map[string]string) (values map[string]string,
	missing []content.Argument) {
	values = map[string]string{}
	for _, a := range p.Arguments {
		if values[a.Name] = given[a.Name]; a.Required && given[a.Name] == "" {
			missing = append(missing, a)
		}
	}
	return values, missing
}

// argumentsName is the name of the question for the arguments of a prompt.
const argumentsName = "arguments"

// askArguments completes the values of a prompt with what the user of the client answers. In the
// revision without sessions, the result is the question. It needs no state: the answer comes with
// the request that it is for, and counts as much as an argument.
func (r *contentRequest) askArguments(prompt *content.Prompt, p *mcp.GetPromptParams,
	values map[string]string, missing []content.Argument) (mcp.Result, error) {
	answer, _ := p.InputResponses[argumentsName].(*mcp.ElicitResult)
	question := &mcp.ElicitParams{Mode: "form", RequestedSchema: formOfArguments(missing),
		Message: fmt.Sprintf("What are the arguments of the prompt %s?", prompt.Name)}
	switch {
	case answer != nil:
	case r.modern() && r.asks():
		return &asked{ResultType: resultInputRequired,
			InputRequests: mcp.InputRequestMap{argumentsName: question}}, nil
	case r.asks():
		ctx, cancel := r.within(r.ctx, r.config.Wait)
		defer cancel()
		answer, _ = r.session.Elicit(ctx, question) // a client that cannot ask has no answer
	}
	if names := take(answer, values, missing); len(names) > 0 {
		return nil, invalid(fmt.Sprintf("the prompt %s needs the arguments %s", prompt.Name,
			strings.Join(names, ", ")))
	}
	return nil, nil
}

// take adds an answer to the values of a prompt, and returns the arguments that are still missing.
func take(answer *mcp.ElicitResult, values map[string]string, missing []content.Argument) (
	names []string) {
	for _, a := range missing {
		if answer != nil && answer.Action == "accept" {
			values[a.Name], _ = answer.Content[a.Name].(string)
		}
		if values[a.Name] == "" {
			names = append(names, a.Name)
		}
	}
	return names
}

// formOfArguments returns the form that asks for arguments.
func formOfArguments(missing []content.Argument) json.RawMessage {
	type field struct {
		Type        string `json:"type"`
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
	}
	fields, required := map[string]field{}, []string{}
	for _, a := range missing {
		fields[a.Name] = field{"string", a.Title, a.Description}
		required = append(required, a.Name)
	}
	form, err := json.Marshal(map[string]any{"type": "object", "properties": fields,
		"required": required})
	if err != nil { // texts can be encoded
		panic(err)
	}
	return form
}

// readMessage returns the content of a message of a prompt.
func (r *contentRequest) readMessage(m content.Message, values map[string]string) (
	mcp.Content, error) {
	switch {
	case m.Resource != "":
		all, err := r.read(content.Fill(m.Resource, values))
		if err != nil {
			return nil, err
		}
		return &mcp.EmbeddedResource{Resource: all[0]}, nil
	case m.File == "":
		return &mcp.TextContent{Text: content.Fill(m.Text, values)}, nil
	}
	c, err := r.view.ReadFile(m.File, "")
	switch {
	case err != nil:
		return nil, r.unreadable(m.File, err)
	case c.Text:
		return &mcp.TextContent{Text: content.Fill(string(c.Data), values)}, nil
	case strings.HasPrefix(c.MIMEType, "audio/"):
		return &mcp.AudioContent{Data: c.Data, MIMEType: c.MIMEType}, nil
	}
	return &mcp.ImageContent{Data: c.Data, MIMEType: c.MIMEType}, nil
}

// unreadable returns the protocol error for a file that cannot be read. Its path is not for
// clients.
func (r *contentRequest) unreadable(file string, err error) error {
	r.config.Logger.Error("a file of a prompt or resource cannot be read", "file", file, "error",
		err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
		Message: "the content cannot be read; see the log of the gateway"}
}

// complete serves completion/complete.
func (g *Gateway) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult,
	error) {
	p := req.Params
	v := g.contentRequest(ctx, req, p).view
	var values []string
	var total int
	var err error
	if p.Ref.Type == "ref/prompt" {
		var prompt *content.Prompt
		if prompt, err = v.Prompt(p.Ref.Name); err == nil {
			values, total, err = prompt.Complete(p.Argument.Name, p.Argument.Value)
		}
	} else {
		values, total, err = v.Complete(p.Ref.URI, p.Argument.Name, p.Argument.Value)
	}
	if errors.Is(err, content.ErrNotFound) {
		return nil, invalid(fmt.Sprintf("there is no argument %q to complete",
			short(p.Argument.Name)))
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values,
		Total: total, HasMore: total > len(values)}}, err
}
