package mcpclient

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// The actions by which a server's question is answered.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// onElicit passes a server's question to the call that it belongs to. Servers do not identify the
// call, so exactly one call that may ask must be in flight.
func (c *Connection) onElicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult,
	error) {
	request, call := c.asker()
	if request == nil {
		return &mcp.ElicitResult{Action: actionDecline}, nil
	}
	within, cancel := context.WithCancel(call)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return reply(within, request, "", r.Params), nil
}

// acceptTitles has the SDK accept lists of choices with titles, which it refuses if the schema of
// the choices has a type.
func acceptTitles(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if p, ok := r.GetParams().(*mcp.ElicitParams); ok && p != nil {
			form, _ := p.RequestedSchema.(map[string]any)
			fields, _ := form["properties"].(map[string]any)
			for _, field := range fields {
				list, _ := field.(map[string]any)
				items, _ := list["items"].(map[string]any)
				if items["anyOf"] != nil && items["type"] == "string" {
					delete(items, "type")
				}
			}
		}
		return next(ctx, method, r)
	}
}

func (c *Connection) asker() (*Request, context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.openQuestions) != 1 {
		return nil, nil
	}
	for request, ctx := range c.openQuestions {
		return request, ctx
	}
	return nil, nil
}

// reply asks a person on behalf of a call, if it may ask and the question is a form.
// name is what the server calls the question; empty for none.
func reply(ctx context.Context, r *Request, name string,
	question *mcp.ElicitParams) *mcp.ElicitResult {
	switch {
	case r.Ask == nil:
		r.note("the server's question was declined: the toolspec has no entry.answer_within")
		return &mcp.ElicitResult{Action: actionDecline}
	case question.URL != "" || question.Mode == "url":
		r.note("the server's request to open a URL was declined: only forms are supported")
		return &mcp.ElicitResult{Action: actionDecline}
	}
	schema, err := jsonvalue.Encode(question.RequestedSchema)
	if err != nil || question.RequestedSchema == nil {
		schema = nil
	}
	answer, err := r.Ask(ctx, boundedName(name), question.Message, schema)
	switch {
	case err != nil:
		r.note("the server's question was not answered: " + err.Error())
		return &mcp.ElicitResult{Action: actionCancel}
	case answer.Declined:
		return &mcp.ElicitResult{Action: actionDecline}
	default:
		return &mcp.ElicitResult{Action: actionAccept, Content: answer.Content}
	}
}

// maxName bounds the name of a question, in bytes.
const maxName = 100

// boundedName returns the name of a question; empty for one that is too long.
func boundedName(name string) string {
	if len(name) > maxName {
		return ""
	}
	return name
}

func (r *Request) note(text string) {
	if r.Note != nil {
		r.Note(text)
	}
}

// Bounds of how often a server may answer a call with questions in place of a result: in all, and
// with none.
const (
	maxRounds     = 10
	maxIdleRounds = 3
)

// rounds calls a tool until there is a result: in newer versions of the protocol a server that
// wants to ask a person answers with its questions and is called again with the replies.
func (c *Connection) rounds(ctx context.Context, r *Request,
	params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	idle := 0
	for range maxRounds {
		result, err := c.session.CallTool(ctx, params)
		if err != nil || !result.NeedsInput() {
			return result, err
		}
		if len(result.InputRequests) == 0 {
			if idle++; idle == maxIdleRounds {
				return nil, &Refused{Message: "it is busy", busy: true}
			}
		}
		again := *params
		again.RequestState = result.RequestState
		if again.InputResponses, err = replies(ctx, r, result.InputRequests); err != nil {
			return nil, err
		}
		params = &again
	}
	return nil, &Refused{Message: fmt.Sprintf("it asked for more %d times and gave no result",
		maxRounds)}
}

func replies(ctx context.Context, r *Request, questions mcp.InputRequestMap) (mcp.InputResponseMap,
	error) {
	given := mcp.InputResponseMap{}
	for _, id := range slices.Sorted(maps.Keys(questions)) {
		question, ok := questions[id].(*mcp.ElicitParams)
		if !ok {
			return nil, &Refused{Message: fmt.Sprintf(
				"it uses a client feature that is not supported (%T)", questions[id])}
		}
		given[id] = reply(ctx, r, id, question)
	}
	return given, ctx.Err()
}
