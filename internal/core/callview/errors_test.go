package callview

import (
	"encoding/json"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// The original error is not modified.
func TestHideError_ReplacesValues(t *testing.T) {
	var none *redaction.Hider
	e := &api.Error{Type: api.ErrValidation, Message: "m hunter22",
		Problems: []api.Problem{{Path: "$.hunter22", Rule: "r", Message: "p hunter22"}},
		Near:     []string{"n hunter22"}, Details: []string{"d hunter22"}}
	before, _ := json.Marshal(e)
	got, _ := json.Marshal(HideError(none.With(redaction.Word, "hunter22"), e))
	if after, _ := json.Marshal(e); string(after) != string(before) {
		t.Errorf("the error was changed: %s", after)
	}
	want := `{"type":"validation_error","message":"m ***","problems":[{"path":"$.***","rule":"r","message":"p ***"}],"details":["d ***"],"near":["n ***"]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if HideError(none, e) != e || HideError(none.With(redaction.Word, "hunter22"), nil) != nil {
		t.Error("nothing to hide changed something")
	}
}
