package api

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Verify declares how to find out whether a call whose outcome is unknown has taken effect: a tool that reads, its arguments
// with placeholders as those of an Undo have, but for the result, and where its answer says so.
type Verify struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Done is the path in the tool's result at which true says that the call has taken effect, and false that it has not.
	Done string `json:"done"`
	// Result is the path in the tool's result at which the call's own result stands; empty is all of it.
	Result string `json:"result,omitempty"`
}

// Call returns the arguments' side of v in the form of an Undo.
func (v Verify) Call() Undo { return Undo{Tool: v.Tool, Arguments: v.Arguments} }

// VerifyCallID returns the id of the nth call, from 1, that verifies the call of that id.
func VerifyCallID(callID string, n int) string {
	if n > 1 {
		return fmt.Sprintf("verify-%s-%d", callID, n)
	}
	return "verify-" + callID
}

// Judge reads what the verifying tool has answered: whether the verified call has taken effect, and if so its result. The error
// says why the answer does not tell.
func (v Verify) Evaluate(r *Result) (done bool, output json.RawMessage, err error) {
	if r.Cut > 0 {
		return false, nil, fmt.Errorf("%d bytes of the answer of %s were cut", r.Cut, v.Tool)
	}
	value, err := DecodeJSON(r.Output)
	if err != nil {
		return false, nil, fmt.Errorf("the answer of %s is no JSON: %w", v.Tool, err)
	}
	told, _, _ := walk(value, strings.Split(v.Done, "."))
	done, ok := told.(bool)
	switch {
	case !ok:
		return false, nil, fmt.Errorf("the answer of %s has neither true nor false at %q", v.Tool, v.Done)
	case !done || v.Result == "":
		return done, r.Output, nil
	}
	own, _, ok := walk(value, strings.Split(v.Result, "."))
	if !ok {
		return false, nil, fmt.Errorf("the answer of %s says that the call has taken effect, and has nothing at %q", v.Tool, v.Result)
	}
	output, err = EncodeJSON(own)
	return true, output, err
}

// Verifiable reports whether a call of the tool that failed so is to be verified: nobody knows what became of it, and the
// tool says how to find out.
func (t Tool) Verifiable(e *Error) bool {
	if t.Verify == nil || t.Effect != EffectOnce || t.Kind != "" || !e.MayHaveActed() {
		return false
	}
	return e.Type == ErrOutcomeUnknown || e.Type == ErrTimeout || e.Type == ErrWorkerLost
}
