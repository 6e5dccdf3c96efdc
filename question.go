package switchyard

import (
	"encoding/json"
	"time"
)

// Question is something that a run waits for a person to answer: a call of a human tool, or what an MCP server asks in
// the middle of a call. It stands in the run's memory and is rebuilt from history, so that nobody need be connected.
type Question struct {
	// ID is unique in its run: the call's id, with "/1", "/2" … for what a tool asks during the call.
	ID   string `json:"id"`
	Call string `json:"call"`
	Tool string `json:"tool"`
	Text string `json:"text"`
	// Schema is the JSON Schema that an answer must fit; empty takes any JSON value.
	Schema json.RawMessage `json:"schema,omitempty"`
	Asked  time.Time       `json:"asked,omitzero"`
	// Until is when the question is given up; zero for never.
	Until time.Time `json:"until,omitzero"`
}

// Reply is what a person says to a question.
type Reply struct {
	// Question is the question's id.
	Question string `json:"question"`
	// Value is the answer, a JSON value; unset where the person declines.
	Value json.RawMessage `json:"value,omitempty"`
	// Decline says that there will be no answer.
	Decline bool `json:"decline,omitempty"`
	// By is who answers; an answer of nobody is refused.
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}
