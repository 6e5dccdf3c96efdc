package api

import "encoding/json"

// Script is the script of the scripted model: one step per turn, in order. Texts and arguments may
// refer to results of earlier calls of the script, as in a plan: ${id} or ${id.field.0}.
type Script struct {
	Steps []ScriptStep `json:"steps"`
	// Summary is the answer at a limit; by default the last tool results are listed.
	Summary string `json:"summary,omitempty"`
	// Window is the length at which a conversation overflows the scripted model, in tokens, without
	// a warning in advance; zero is no limit.
	Window int `json:"window,omitempty"`
}

// ScriptStep is one answer of the scripted model: Calls, or the final Answer.
type ScriptStep struct {
	// Text accompanies the calls.
	Text   string       `json:"text,omitempty"`
	Calls  []ScriptCall `json:"calls,omitempty"`
	Answer string       `json:"answer,omitempty"`
	// Delay is how long the step takes. Its text is streamed in the meantime, as a live model's is.
	Delay Duration `json:"delay,omitzero"`
}

// ScriptCall is one call that a step asks for.
type ScriptCall struct {
	// ID lets later steps refer to the result; it may be empty.
	ID        string          `json:"id,omitempty"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// ArgumentsText is sent unchanged instead of Arguments, also if it is not JSON, for tests of
	// malformed calls.
	ArgumentsText string `json:"arguments_text,omitempty"`
	// Repeat makes the call that many times at once; zero is once.
	Repeat int `json:"repeat,omitempty"`
}
