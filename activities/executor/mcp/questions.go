package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/tool"
)

// mcpQuestions are the questions of a server to people during one call.
type mcpQuestions struct {
	mu    sync.Mutex
	notes []string
}

// ask posts a server's question to the run.
func (q *mcpQuestions) ask(ctx context.Context, name, text string,
	schema json.RawMessage) (mcpclient.Reply, error) {
	reply, err := tool.Ask(callcontext.WithQuestionName(ctx, name), text, schema)
	if err != nil {
		return mcpclient.Reply{}, err
	}
	if reply.Decline {
		return mcpclient.Reply{Declined: true}, nil
	}
	var content map[string]any
	if err := json.Unmarshal(reply.Value, &content); err != nil {
		q.note("the reply is no form, which is all that MCP servers take, so the question counts as declined")
		return mcpclient.Reply{Declined: true}, nil
	}
	return mcpclient.Reply{Content: content}, nil
}

func (q *mcpQuestions) note(text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.notes = append(q.notes, text)
}

func (q *mcpQuestions) listNotes() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.notes)
}
