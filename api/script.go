package api

import "encoding/json"

// Script is what the scripted model plays: one step per turn, in order. Texts and arguments may refer to results of
// earlier calls of the script as a plan does: ${id} or ${id.field.0}.
type Script struct {
	Steps []ScriptStep `json:"steps"`
	// Summary answers where a limit ends the run; by default the last tool results are listed.
	Summary string `json:"summary,omitempty"`
	// Window is from how many tokens on a conversation is too long for the scripted model, which tells nobody of it
	// beforehand; zero is any number.
	Window int `json:"window,omitempty"`
}

// ScriptStep is one answer of the scripted model: Calls, or the final Answer.
type ScriptStep struct {
	// Text accompanies the calls.
	Text   string       `json:"text,omitempty"`
	Calls  []ScriptCall `json:"calls,omitempty"`
	Answer string       `json:"answer,omitempty"`
	// Delay is how long the step takes. Its text comes in pieces meanwhile, as a live model's does.
	Delay Duration `json:"delay,omitzero"`
}

// ScriptCall is one call that a step asks for.
type ScriptCall struct {
	// ID lets later steps refer to the result; it may be empty.
	ID        string          `json:"id,omitempty"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// ArgumentsText is sent as it is in place of Arguments, also if it is not JSON: for tests of what models do wrong.
	ArgumentsText string `json:"arguments_text,omitempty"`
	// Repeat makes the call that many times at once; zero and one make it once.
	Repeat int `json:"repeat,omitempty"`
}
