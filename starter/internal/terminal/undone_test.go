package terminal

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/undorules"
	"github.com/switchyard/switchyard/starter/cli"
)

// Long lists are cut.
func TestUndone_ListsCallsWithReasons(t *testing.T) {
	of := func(id string, e *api.Error) api.Undone {
		return api.Undone{CallID: undorules.CallID(id), Tool: "unbook", TargetCallID: id,
			TargetTool: "book", Error: e}
	}
	for want, undone := range map[string][]api.Undone{
		"": nil,
		"\nundone calls\n  2.1 book undone by undo-2.1 unbook\n  1.1 book not undone by undo-1.1 unbook: execution_error: closed\n": {
			of("2.1", nil), of("1.1", api.Errorf(api.ErrExecution, "closed"))},
	} {
		var b strings.Builder
		WriteUndone(&b, cli.Palette{}, undone, "starter audit x")
		if b.String() != want {
			t.Errorf("got %q, want %q", b.String(), want)
		}
	}
	var b strings.Builder
	WriteUndone(&b, cli.Palette{}, make([]api.Undone, maxUndone+2), "starter audit x")
	if !strings.HasSuffix(b.String(), "  … and 2 more: starter audit x\n") {
		t.Errorf("many: %q", b.String())
	}
}
