// Package content offers the prompts and resources that gateway.yaml declares. They are texts and
// files, read when gateway.yaml is, and the same for all clients.
package content

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"
)

// Argument is an argument of a prompt.
type Argument struct {
	Name        string `yaml:"name" rule:"required"`
	Description string `yaml:"description"`
	Required    bool   `yaml:"required"`
	// Values are suggested to whoever types the argument. Others are possible.
	Values []string `yaml:"values"`
}

// Prompt is a prompt as gateway.yaml has it.
type Prompt struct {
	Name        string     `yaml:"name" rule:"required"`
	Title       string     `yaml:"title"`
	Description string     `yaml:"description" rule:"required"`
	Arguments   []Argument `yaml:"arguments" rule:"short=name"`
	Messages    []Message  `yaml:"messages" rule:"required,min=1,short=text"`
}

// Message is a message of a prompt. Exactly one of Text, File and Resource is set. {NAME} stands
// for an argument in Text, Resource, and the text of File.
type Message struct {
	Role string `yaml:"role" rule:"enum=user|assistant"`
	Text string `yaml:"text"`
	// File is the path of a text or an image.
	File string `yaml:"file"`
	// Resource is the address of a resource of the gateway.
	Resource string `yaml:"resource"`

	body body
}

// Resource is a resource, or a template of resources, as gateway.yaml has it. Exactly one of Text
// and File is set.
type Resource struct {
	// URI is the address. {NAME} makes it a template.
	URI         string `yaml:"uri" rule:"required"`
	Name        string `yaml:"name"`
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	MIMEType    string `yaml:"mime_type"`
	// Text is the content. The variables of a template are replaced in it.
	Text string `yaml:"text"`
	File string `yaml:"file"`

	body body
	// template is nil if URI has no variables.
	template *uritemplate.Template
}

// Set is the prompts and resources of a gateway. A nil set has none.
type Set struct {
	prompts   []*Prompt
	resources []*Resource
}

// Replace has a server offer the set in place of another one. It tells the clients of the server.
func (s *Set) Replace(server *mcp.Server, before *Set) {
	if before != nil {
		for _, p := range before.prompts {
			server.RemovePrompts(p.Name)
		}
		for _, r := range before.resources {
			server.RemoveResources(r.URI)
			server.RemoveResourceTemplates(r.URI)
		}
	}
	if s == nil {
		return
	}
	for _, p := range s.prompts {
		server.AddPrompt(p.toMCP(), func(_ context.Context, req *mcp.GetPromptRequest) (
			*mcp.GetPromptResult, error) {
			return s.get(p, req)
		})
	}
	for _, r := range s.resources {
		s.addResource(server, r)
	}
}

func (s *Set) addResource(server *mcp.Server, r *Resource) {
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		found, err := s.read(req.Params.URI)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{found}}, err
	}
	name := cmp.Or(r.Name, r.URI)
	if r.template != nil {
		server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: r.URI, Name: name,
			Title: r.Title, Description: r.Description, MIMEType: r.body.mimeType}, read)
		return
	}
	server.AddResource(&mcp.Resource{URI: r.URI, Name: name, Title: r.Title,
		Description: r.Description, MIMEType: r.body.mimeType, Size: int64(len(r.body.data))}, read)
}

// toMCP returns the prompt as clients see it.
func (p *Prompt) toMCP() *mcp.Prompt {
	shown := &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
	for _, a := range p.Arguments {
		shown.Arguments = append(shown.Arguments, &mcp.PromptArgument{Name: a.Name,
			Description: a.Description, Required: a.Required})
	}
	return shown
}

// get serves prompts/get.
func (s *Set) get(p *Prompt, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	values, missing := p.collect(req.Params)
	if len(missing) > 0 {
		return p.ask(req, missing)
	}
	res := &mcp.GetPromptResult{Description: p.Description}
	for _, m := range p.Messages {
		c, err := s.render(m, values)
		if err != nil {
			return nil, err
		}
		res.Messages = append(res.Messages, &mcp.PromptMessage{Content: c,
			Role: mcp.Role(cmp.Or(m.Role, "user"))})
	}
	return res, nil
}

// argumentsName is the name of the question for the arguments of a prompt.
const argumentsName = "arguments"

// collect returns the values of all arguments, those that the user of the client has been asked for
// included, and the required ones that have none.
func (p *Prompt) collect(given *mcp.GetPromptParams) (values map[string]string,
	missing []Argument) {
	values = map[string]string{}
	answer, _ := given.InputResponses[argumentsName].(*mcp.ElicitResult)
	for _, a := range p.Arguments {
		values[a.Name] = given.Arguments[a.Name]
		if values[a.Name] == "" && answer != nil && answer.Action == "accept" {
			values[a.Name], _ = answer.Content[a.Name].(string)
		}
		if a.Required && values[a.Name] == "" {
			missing = append(missing, a)
		}
	}
	return values, missing
}

// ask returns the question for missing arguments, if the request can be repeated with the answer
// and the client can ask its user. The question needs no state: the answer comes with the request
// that it is for, and counts as much as an argument.
func (p *Prompt) ask(req *mcp.GetPromptRequest, missing []Argument) (*mcp.GetPromptResult, error) {
	fields, names := map[string]any{}, []string{}
	for _, a := range missing {
		fields[a.Name] = map[string]any{"type": "string", "description": a.Description}
		names = append(names, a.Name)
	}
	client := req.ClientCapabilities()
	asks := client != nil && client.Elicitation != nil &&
		req.Params.Meta[mcp.MetaKeyProtocolVersion] != nil
	if !asks || req.Params.InputResponses[argumentsName] != nil {
		return nil, invalid("the prompt %s needs the arguments %s", p.Name,
			strings.Join(names, ", "))
	}
	return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{argumentsName: &mcp.ElicitParams{
		Mode: "form", Message: "What are the arguments of the prompt " + p.Name + "?",
		RequestedSchema: map[string]any{"type": "object", "properties": fields,
			"required": names}}}}, nil
}

// render returns the content of a message.
func (s *Set) render(m Message, values map[string]string) (mcp.Content, error) {
	switch {
	case m.Resource != "":
		found, err := s.read(fill(m.Resource, values))
		return &mcp.EmbeddedResource{Resource: found}, err
	case m.body.text:
		return &mcp.TextContent{Text: fill(string(m.body.data), values)}, nil
	}
	return &mcp.ImageContent{Data: m.body.data, MIMEType: m.body.mimeType}, nil
}

// read returns the content of the resource at an address.
func (s *Set) read(uri string) (*mcp.ResourceContents, error) {
	for _, r := range s.resources {
		values := map[string]string{}
		if r.template != nil {
			found := r.template.Match(uri)
			if found == nil {
				continue
			}
			for name, value := range found {
				values[name] = value.String()
			}
		} else if r.URI != uri {
			continue
		}
		c := &mcp.ResourceContents{URI: uri, MIMEType: r.body.mimeType, Blob: r.body.data}
		if r.body.text {
			c.Text, c.Blob = fill(string(r.body.data), values), nil
		}
		return c, nil
	}
	return nil, mcp.ResourceNotFoundError(uri)
}

// fill replaces {NAME} in a text by the value of NAME. Other text in braces stays, and values are
// not read again.
func fill(text string, values map[string]string) string {
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// CheckSubscription refuses a subscription to what is not in the list of resources, so that clients
// leave no more behind than that. Contents do not change: clients hear of another gateway.yaml.
func (s *Set) CheckSubscription(uri string) error {
	if s == nil || !slices.ContainsFunc(s.resources, func(r *Resource) bool {
		return r.template == nil && r.URI == uri
	}) {
		return mcp.ResourceNotFoundError(uri)
	}
	return nil
}

// maxValues is how many values a client gets at a time, by the protocol.
const maxValues = 100

// Complete serves completion/complete with the values of an argument that begin alike. Variables of
// resources have no values.
func (s *Set) Complete(p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	res := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	if p.Ref.Type != "ref/prompt" || s == nil {
		return res, nil
	}
	for _, prompt := range s.prompts {
		at := slices.IndexFunc(prompt.Arguments, func(a Argument) bool {
			return prompt.Name == p.Ref.Name && a.Name == p.Argument.Name
		})
		if at < 0 {
			continue
		}
		begin := strings.ToLower(p.Argument.Value)
		found := slices.DeleteFunc(slices.Clone(prompt.Arguments[at].Values),
			func(value string) bool { return !strings.HasPrefix(strings.ToLower(value), begin) })
		all := &res.Completion
		all.Total, all.HasMore = len(found), len(found) > maxValues
		all.Values = append(all.Values, found[:min(len(found), maxValues)]...)
		return res, nil
	}
	return nil, invalid("there is no such argument to complete")
}

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}
