package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// anthropicParams returns the request for a prompt. Its beginning and its end are marked for the
// provider's cache: the next step sends all of it again, and a little more.
func anthropicParams(p models.Prompt) anthropic.MessageNewParams {
	model := p.Agent.Model
	params := anthropic.MessageNewParams{Model: model.Name, MaxTokens: anthropicAnswer,
		Messages: anthropicMessages(p)}
	if model.MaxTokens > 0 {
		params.MaxTokens = int64(model.MaxTokens)
	}
	if model.Temperature != nil {
		params.Temperature = anthropic.Float(*model.Temperature)
	}
	for _, m := range p.Messages[:systemPart(p.Messages)] {
		if !blank(m.Text) {
			params.System = append(params.System, anthropic.TextBlockParam{Text: m.Text})
		}
	}
	anthropicTools(&params, p)
	markCached(&params)
	return params
}

func markCached(params *anthropic.MessageNewParams) {
	cache := anthropic.NewCacheControlEphemeralParam()
	if n := len(params.System); n > 0 {
		params.System[n-1].CacheControl = cache
	} else if n := len(params.Tools); n > 0 {
		params.Tools[n-1].OfTool.CacheControl = cache
	}
	last := params.Messages[len(params.Messages)-1].Content
	if marked := last[len(last)-1].GetCacheControl(); marked != nil {
		*marked = cache
	}
}

// anthropicTools adds the tools and how the model chooses among them.
func anthropicTools(params *anthropic.MessageNewParams, p models.Prompt) {
	if len(p.Tools) == 0 {
		// Where a conversation has calls the protocol wants tools, also where none may be called
		// any more.
		for _, name := range calledTools(p.Messages) {
			params.Tools = append(params.Tools,
				anthropicTool(models.Offer{Name: name,
					Schema: json.RawMessage(`{"type":"object"}`)}))
			params.ToolChoice.OfNone = &anthropic.ToolChoiceNoneParam{}
		}
		return
	}
	for _, o := range p.Tools {
		params.Tools = append(params.Tools, anthropicTool(o))
	}
	var single param.Opt[bool]
	if p.Single() {
		single = anthropic.Bool(true)
	}
	switch choice := p.Choice(); choice {
	case api.ChoiceAuto:
		if p.Single() {
			params.ToolChoice.OfAuto = &anthropic.ToolChoiceAutoParam{
				DisableParallelToolUse: single}
		}
	case api.ChoiceNone:
		params.ToolChoice.OfNone = &anthropic.ToolChoiceNoneParam{}
	case api.ChoiceRequired:
		params.ToolChoice.OfAny = &anthropic.ToolChoiceAnyParam{DisableParallelToolUse: single}
	default:
		params.ToolChoice.OfTool = &anthropic.ToolChoiceToolParam{Name: choice,
			DisableParallelToolUse: single}
	}
}

// calledTools returns the names of the tools that a conversation has calls of.
func calledTools(messages []api.Message) []string {
	var names []string
	for _, m := range messages {
		for _, c := range m.Calls {
			names = append(names, models.LegalName(c.Tool))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// combining are the keywords of a schema that the protocol does not take at its top.
var combining = []string{"oneOf", "anyOf", "allOf"}

// anthropicTool offers a tool. It describes schema keywords that the protocol does not support in
// words; admission checks all of them.
func anthropicTool(o models.Offer) anthropic.ToolUnionParam {
	tool := anthropic.ToolParam{Name: o.Name}
	var schema map[string]json.RawMessage
	if json.Unmarshal(o.Schema, &schema) == nil {
		also := map[string]json.RawMessage{}
		for _, keyword := range combining {
			if rule, ok := schema[keyword]; ok {
				also[keyword] = rule
				delete(schema, keyword)
			}
		}
		data, err := jsonvalue.Encode(also)
		if len(also) > 0 && err == nil {
			o.Description += "\nThe arguments must also fit this JSON Schema: " + string(data)
		}
	}
	if o.Description != "" {
		tool.Description = anthropic.String(o.Description)
	}
	tool.InputSchema = param.Override[anthropic.ToolInputSchemaParam](schema)
	return anthropic.ToolUnionParam{OfTool: &tool}
}

// systemPart returns how many messages at the beginning of a conversation are instructions.
func systemPart(messages []api.Message) int {
	n := slices.IndexFunc(messages, func(m api.Message) bool { return m.Role != api.RoleSystem })
	if n < 0 {
		return len(messages)
	}
	return n
}

// anthropicMessages returns a conversation without the instructions that it begins with: user and
// assistant in turn, the user first and last.
func anthropicMessages(p models.Prompt) []anthropic.MessageParam {
	var t turns
	for _, m := range models.PairResults(p.Messages[systemPart(p.Messages):]) {
		if m.Role == api.RoleAssistant {
			t.user("Begin.", len(t.messages) == 0)
			t.add(anthropic.MessageParamRoleAssistant, assistantBlocks(m)...)
		} else {
			t.add(anthropic.MessageParamRoleUser, userBlocks(m, p.Images[m.CallID])...)
		}
	}
	t.user(fmt.Sprintf(models.LimitPrompt, p.Limit), p.Limit != "")
	t.user("Go on.", len(t.messages) == 0 ||
		t.messages[len(t.messages)-1].Role != anthropic.MessageParamRoleUser)
	return t.messages
}

// turns are the messages of a request. What one side says in several messages becomes one.
type turns struct{ messages []anthropic.MessageParam }

func (t *turns) add(role anthropic.MessageParamRole, blocks ...anthropic.ContentBlockParamUnion) {
	n := len(t.messages)
	switch {
	case len(blocks) == 0:
	case n > 0 && t.messages[n-1].Role == role:
		t.messages[n-1].Content = append(t.messages[n-1].Content, blocks...)
	default:
		t.messages = append(t.messages, anthropic.MessageParam{Role: role, Content: blocks})
	}
}

func (t *turns) user(text string, wanted bool) {
	if wanted {
		t.add(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(text))
	}
}

// blank reports whether a text says nothing: the protocol refuses such blocks.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

func assistantBlocks(m api.Message) []anthropic.ContentBlockParamUnion {
	var blocks []anthropic.ContentBlockParamUnion
	if !blank(m.Text) {
		blocks = append(blocks, anthropic.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		blocks = append(blocks, anthropic.NewToolUseBlock(legalID(c.ID), legalObject(c.Arguments),
			models.LegalName(c.Tool)))
	}
	return blocks
}

// userBlocks returns what a message of the user or of a tool says. images are those of a tool's
// result.
func userBlocks(m api.Message, images []models.Image) []anthropic.ContentBlockParamUnion {
	if m.Role == api.RoleTool {
		result := anthropic.ToolResultBlockParam{ToolUseID: legalID(m.CallID)}
		if m.Failed {
			result.IsError = anthropic.Bool(true)
		}
		if !blank(m.Text) {
			text := &anthropic.TextBlockParam{Text: m.Text}
			result.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: text}}
		}
		for _, i := range images {
			block := anthropic.NewImageBlockBase64(i.MIMEType,
				base64.StdEncoding.EncodeToString(i.Data))
			result.Content = append(result.Content,
				anthropic.ToolResultBlockParamContentUnion{OfImage: block.OfImage})
		}
		return []anthropic.ContentBlockParamUnion{{OfToolResult: &result}}
	}
	if blank(m.Text) {
		return nil
	}
	return []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(m.Text)}
}

// legalID spells a call's id without the dots and slashes that the protocol does not take in ids.
func legalID(id string) string {
	return strings.Map(func(r rune) rune {
		if api.CheckToolName(string(r)) == nil {
			return r
		}
		return '_'
	}, id)
}

// legalObject returns arguments as the object that the protocol wants, whatever the model made of
// them.
func legalObject(arguments string) json.RawMessage {
	text := models.LegalArguments(arguments)
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return json.RawMessage(text)
	}
	wrapped, err := jsonvalue.Encode(map[string]json.RawMessage{"not_an_object": json.RawMessage(
		text)})
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return wrapped
}
