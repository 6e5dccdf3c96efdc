package activities

import (
	"testing"
	"unicode/utf8"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// A failure contains only what the server accepts: invalid UTF-8 is repaired everywhere, in a copy.
func TestFailure_IsValidText(t *testing.T) {
	own := &api.Error{Type: api.ErrExecution, Message: "caf\xe9",
		Problems: []api.Problem{{Path: "$.\xff", Rule: "r", Message: "m\xff"}},
		Near:     []string{"n\xff"}}
	converter := temporal.GetDefaultFailureConverter()
	failure := converter.ErrorToFailure(executor.Failure(own))
	if _, err := proto.Marshal(failure); err != nil {
		t.Fatalf("the failure cannot be encoded: %v", err)
	}
	e, app := callError(t, converter.FailureToError(failure))
	for _, text := range []string{app.Message(), e.Message, e.Problems[0].Path,
		e.Problems[0].Message, e.Near[0]} {
		if !utf8.ValidString(text) || !expect.Contains(text, "\uFFFD") {
			t.Errorf("%q is not what the server takes", text)
		}
	}
	if own.Message != "caf\xe9" || own.Near[0] != "n\xff" {
		t.Errorf("the tool's own error was written to: %+v", own)
	}
}
