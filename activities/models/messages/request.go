package messages

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
//
// prefix is the digest of the prompt for Native.Prefix.
func anthropicParams(p models.Prompt, endpoint string) (params anthropic.MessageNewParams,
	prefix string) {
	model := p.Agent.Model
	params = anthropic.MessageNewParams{Model: model.Name, MaxTokens: anthropicAnswer}
	params.Messages, prefix = anthropicMessages(p, endpoint)
	if strings.HasPrefix(model.Name, "claude-3-") {
		params.MaxTokens = oldAnswer
	}
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
	return params, prefix
}

// The protocol allows four marks, and looks for what it has in its cache at most 20 blocks before
// each. A turn of many calls has more blocks, so that it gets marks within.
const (
	maxMarks    = 4
	blocksApart = 18
)

// markCached marks the end of the instructions or tools and, from the end of the conversation on,
// blocks that are close enough for the next step to find one.
func markCached(params *anthropic.MessageNewParams) {
	cache := anthropic.NewCacheControlEphemeralParam()
	if n := len(params.System); n > 0 {
		params.System[n-1].CacheControl = cache
	} else if n := len(params.Tools); n > 0 {
		params.Tools[n-1].OfTool.CacheControl = cache
	}
	marks, since := 1, blocksApart
	for _, m := range slices.Backward(params.Messages) {
		for _, block := range slices.Backward(m.Content) {
			marked := block.GetCacheControl()
			if since >= blocksApart && marked != nil && marks < maxMarks {
				*marked = cache
				marks, since = marks+1, 0
			}
			since++
		}
	}
}

// anthropicTools adds the tools and how the model chooses among them.
func anthropicTools(params *anthropic.MessageNewParams, p models.Prompt) {
	for _, o := range p.Declared() {
		params.Tools = append(params.Tools, anthropicTool(o))
	}
	var single param.Opt[bool]
	if p.Single() {
		single = anthropic.Bool(true)
	}
	switch choice := p.Choice(); {
	case len(params.Tools) == 0:
	case choice == api.ChoiceAuto:
		if p.Single() {
			params.ToolChoice.OfAuto = &anthropic.ToolChoiceAutoParam{
				DisableParallelToolUse: single}
		}
	case choice == api.ChoiceNone:
		params.ToolChoice.OfNone = &anthropic.ToolChoiceNoneParam{}
	case choice == api.ChoiceRequired:
		params.ToolChoice.OfAny = &anthropic.ToolChoiceAnyParam{DisableParallelToolUse: single}
	default:
		params.ToolChoice.OfTool = &anthropic.ToolChoiceToolParam{Name: choice,
			DisableParallelToolUse: single}
	}
}

// anthropicTool offers a tool.
func anthropicTool(o models.Offer) anthropic.ToolUnionParam {
	tool := anthropic.ToolParam{Name: o.Name,
		InputSchema: param.Override[anthropic.ToolInputSchemaParam](o.Schema)}
	if o.Description != "" {
		tool.Description = anthropic.String(o.Description)
	}
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
func anthropicMessages(p models.Prompt, endpoint string) ([]anthropic.MessageParam, string) {
	t := turns{ids: map[string]string{}}
	paired := models.PairResults(p.Messages)
	forms, prefix := p.Fidelities(paired, api.Native{Dialect: api.DialectMessages,
		Endpoint: endpoint, Model: p.Agent.Model.Name})
	from := systemPart(paired)
	for i, m := range paired[from:] {
		if m.Role == api.RoleAssistant {
			t.user("Begin.", len(t.messages) == 0)
			t.add(anthropic.MessageParamRoleAssistant, t.assistant(m, forms[from+i])...)
		} else {
			t.add(anthropic.MessageParamRoleUser, t.userBlocks(m, p.Images[m.CallID])...)
		}
	}
	t.user(fmt.Sprintf(models.LimitPrompt, p.Limit), p.Limit != "")
	t.user("Go on.", len(t.messages) == 0 ||
		t.messages[len(t.messages)-1].Role != anthropic.MessageParamRoleUser)
	return t.messages, prefix
}

// turns are the messages of a request. What one side says in several messages becomes one.
type turns struct {
	messages []anthropic.MessageParam
	// ids are the provider's ids of calls by ours.
	ids map[string]string
}

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

// assistant returns a model's message: as the provider sent it, if it comes from there, else in the
// words that any model reads.
func (t *turns) assistant(m api.Message, form models.Fidelity) []anthropic.ContentBlockParamUnion {
	if blocks, ok := t.native(m); form != models.Projected && ok {
		return toParams(blocks, form == models.Verbatim)
	}
	var blocks []anthropic.ContentBlockParamUnion
	if !blank(m.Text) {
		blocks = append(blocks, anthropic.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		t.ids[c.ID] = models.CallID(c.ID)
		blocks = append(blocks, anthropic.NewToolUseBlock(t.ids[c.ID], legalObject(c.Arguments),
			models.LegalName(c.Tool)))
	}
	return blocks
}

// native returns the blocks of a message as the provider sent it, and takes over the ids of its
// calls.
func (t *turns) native(m api.Message) (blocks []json.RawMessage, ok bool) {
	if m.Native == nil || json.Unmarshal(m.Native.Items, &blocks) != nil {
		return nil, false
	}
	var ids []string
	for _, b := range blocks {
		if head := readHead(b); head.Type == "tool_use" {
			if head.ID == "" || slices.Contains(ids, head.ID) {
				return nil, false // results could not be told apart
			}
			ids = append(ids, head.ID)
		}
	}
	if len(ids) != len(m.Calls) {
		return nil, false // calls were left out, because the answer was too long
	}
	for i, c := range m.Calls {
		t.ids[c.ID] = ids[i]
	}
	return blocks, true
}

// blockHead is what this package reads of a block.
type blockHead struct{ Type, ID string }

func readHead(block json.RawMessage) (head blockHead) {
	_ = json.Unmarshal(block, &head) // a block of another form has no type
	return head
}

// toParams returns blocks for a request, with or without reasoning.
func toParams(blocks []json.RawMessage, thoughts bool) []anthropic.ContentBlockParamUnion {
	var params []anthropic.ContentBlockParamUnion
	for _, b := range blocks {
		if kind := readHead(b).Type; !thoughts && (kind == "thinking" || kind == "redacted_thinking") {
			continue
		}
		params = append(params, param.Override[anthropic.ContentBlockParamUnion](b))
	}
	return params
}

// userBlocks returns what a message of the user or of a tool says. images are those of a tool's
// result.
func (t *turns) userBlocks(m api.Message,
	images []models.Image) []anthropic.ContentBlockParamUnion {
	if m.Role == api.RoleTool {
		result := anthropic.ToolResultBlockParam{ToolUseID: t.ids[m.CallID]}
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
