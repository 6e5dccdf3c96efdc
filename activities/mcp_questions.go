package activities

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/switchyard/switchyard/toolspecs/mcptools"
)

// mcpQuestions are what a server asks people in the middle of one call.
type mcpQuestions struct {
	mu    sync.Mutex
	notes []string
}

// ask turns a server's question into one that stands in the run.
func (q *mcpQuestions) ask(ctx context.Context, text string, schema json.RawMessage) (mcptools.Reply, error) {
	reply, err := Ask(ctx, text, schema)
	if err != nil {
		return mcptools.Reply{}, err
	}
	if reply.Decline {
		return mcptools.Reply{Declined: true}, nil
	}
	var content map[string]any
	if err := json.Unmarshal(reply.Value, &content); err != nil {
		q.note("the reply is no form, which is all that MCP servers take, so the question counts as declined")
		return mcptools.Reply{Declined: true}, nil
	}
	return mcptools.Reply{Content: content}, nil
}

func (q *mcpQuestions) note(text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.notes = append(q.notes, text)
}

func (q *mcpQuestions) noted() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.notes)
}
