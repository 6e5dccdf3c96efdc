package mcpserver

import (
	"encoding/json"
	"fmt"
)

// outcome returns what the call of a task has as its result or error.
func (s *Tasks) outcome(t *task) (any, *failure) {
	switch t.text {
	case "fail":
		return nil, &failure{Code: -32000, Message: "the disk is full"}
	case "fail internally":
		return nil, &failure{Code: -32603, Message: "the database is locked"}
	case "no result":
		return nil, nil
	case "tool error":
		return object{"content": []any{object{"type": "text", "text": "no such job"}},
			"isError": true}, nil
	case "ask":
		return done(string(t.reply)), nil
	case "digits":
		return object{"content": []any{},
			"structuredContent": object{"id": json.RawMessage("9007199254740993")}}, nil
	}
	return done(fmt.Sprint("done by ", t.id)), nil
}

func done(text string) object {
	return object{"content": []any{object{"type": "text", "text": text}}}
}

func question() object {
	return object{"mode": "form", "message": "What is your name?",
		"requestedSchema": object{"type": "object",
			"properties": object{"name": object{"type": "string"}},
			"required":   []string{"name"}}}
}
