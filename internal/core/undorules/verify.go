package undorules

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// VerifyCallID returns the id of the nth call, from 1, that verifies the call of that id.
func VerifyCallID(callID string, n int) string {
	if n > 1 {
		return fmt.Sprintf("verify-%s-%d", callID, n)
	}
	return "verify-" + callID
}

// ReadAnswer reads the answer of the verifying tool: whether the verified call has taken effect,
// and its result if so. The error says why the answer is unusable.
func ReadAnswer(v api.Verify, r *api.Result) (done bool, output json.RawMessage, err error) {
	if r.Cut > 0 {
		return false, nil, fmt.Errorf("%d bytes of the answer of %s were cut", r.Cut, v.Tool)
	}
	value, err := jsonvalue.Decode(r.Output)
	if err != nil {
		return false, nil, fmt.Errorf("the answer of %s is not JSON: %w", v.Tool, err)
	}
	told, _, _ := jsonvalue.Lookup(value, strings.Split(v.Done, "."))
	done, ok := told.(bool)
	switch {
	case !ok:
		return false, nil, fmt.Errorf("the answer of %s has neither true nor false at %q", v.Tool,
			v.Done)
	case !done || v.Result == "":
		return done, r.Output, nil
	}
	own, _, ok := jsonvalue.Lookup(value, strings.Split(v.Result, "."))
	if !ok {
		return false, nil, fmt.Errorf(
			"the answer of %s says that the call has taken effect but has no %q", v.Tool,
			v.Result)
	}
	output, err = jsonvalue.Encode(own)
	return true, output, err
}
