package api

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// EarlierCall is an earlier call of a run, for policies. It is not changed once it is shared.
type EarlierCall struct {
	ID   string `json:"call_id"`
	Tool string `json:"tool"`
	// Arguments are the validated arguments of an admitted call, else those of the caller.
	Arguments string `json:"arguments,omitempty"`
	// Result is the output of a completed call, as far as it is kept. Text is the message of a
	// failed one, or an output that is cut.
	Result json.RawMessage `json:"result,omitempty"`
	Text   string          `json:"text,omitempty"`
	// Status is completed, failed, refused or running.
	Status CallStatus `json:"status"`
	Turn   int        `json:"turn,omitempty"`
	// Time is when the call was admitted, or refused.
	Time time.Time `json:"time,omitzero"`
	// Labels are those of the result.
	Labels []string `json:"labels,omitempty"`
	// NotKept says that the run keeps no results, because the rules at its start did not read them.
	NotKept bool `json:"-"`
	// Derived is what a worker computed from the call.
	Derived atomic.Value `json:"-"`
}

// Size is the approximate size of arguments and result in bytes.
func (c *EarlierCall) Size() int { return len(c.Arguments) + len(c.Result) + len(c.Text) }

// SourceKind is where a value of an argument occurred before.
type SourceKind string

// The kinds of sources. People wrote the first three.
const (
	// SourcePrompt is the prompt of the run, or of the run at the top for a sub-agent.
	SourcePrompt SourceKind = "prompt"
	// SourceMessage is a message that was sent to the run.
	SourceMessage SourceKind = "message"
	// SourceInstructions are the instructions of the agent.
	SourceInstructions SourceKind = "instructions"
	// SourceVariable is a variable of the run.
	SourceVariable SourceKind = "variable"
	// SourceParent is the prompt of a sub-agent, which the model of the calling run wrote.
	SourceParent SourceKind = "parent"
	// SourceResult is the result of an earlier call of the run.
	SourceResult SourceKind = "result"
	// SourceNowhere means that the value did not occur before: the model composed it.
	SourceNowhere SourceKind = "nowhere"
)

// Statement is a text that a run was given, beside results. It is not changed once it is shared.
type Statement struct {
	Kind SourceKind `json:"kind"`
	Text string     `json:"text"`
	// Labels are those of the calling run, for SourceParent.
	Labels []string `json:"labels,omitempty"`
	// Derived is what a worker computed from the text.
	Derived atomic.Value `json:"-"`
}

// Match is how a value matches its source.
type Match string

const (
	// MatchExact is a match of the same characters.
	MatchExact Match = "exact"
	// MatchNormalised is a match after folding case, white space and Unicode forms, or of the same
	// number.
	MatchNormalised Match = "normalised"
)

// ValueSource is one place where a value occurred before. It never has the value.
type ValueSource struct {
	Kind SourceKind `json:"kind"`
	// Call and Tool are those of a result.
	Call string `json:"call_id,omitempty"`
	Tool string `json:"tool,omitempty"`
	// Name is the name of a variable.
	Name string `json:"name,omitempty"`
	// Labels are those of the result; of the run, for SourceNowhere.
	Labels []string `json:"labels,omitempty"`
	// Match is empty for SourceNowhere.
	Match Match `json:"match,omitempty"`
}

// String describes the source in a few words.
func (s ValueSource) String() string {
	words := []string{string(s.Kind)}
	for _, word := range []string{s.Call, s.Tool, s.Name} {
		if word != "" {
			words = append(words, word)
		}
	}
	text := strings.Join(words, " ")
	if len(s.Labels) > 0 {
		text += " [" + strings.Join(s.Labels, ", ") + "]"
	}
	if s.Match == MatchNormalised {
		text += " (normalised)"
	}
	return text
}

// ValueSources is where a value that a rule asked about occurred before.
type ValueSources struct {
	// Value is the value as the rule names it, such as args.to or args.to[1].
	Value   string        `json:"value"`
	Sources []ValueSource `json:"sources"`
}

// KeepContents reports whether one of the rules reads contents of the run: arguments and results of
// earlier calls, what people wrote, or values of variables.
func KeepContents(rules []PolicyRule) bool {
	return slices.ContainsFunc(rules, func(r PolicyRule) bool { return r.ReadsContents })
}
