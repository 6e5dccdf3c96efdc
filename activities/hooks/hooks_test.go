package hooks

import (
	"context"
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
)

func TestNew_ListsEveryFault(t *testing.T) {
	good := switchyard.NewAfterRun("good",
		func(context.Context, switchyard.HookEnd) error { return nil })
	_, err := New(good, good, switchyard.Hook{}, switchyard.NewBeforeCall("nil", nil),
		switchyard.NewBeforeRun("nil_too", nil), switchyard.NewMemoryRetrieve("and_this", nil),
		switchyard.NewAfterCall("after", nil), switchyard.NewMemoryWrite("write", nil),
		switchyard.NewAfterRun("two words",
			func(context.Context, switchyard.HookEnd) error { return nil }))
	if err == nil || !expect.Contains(err.Error(), `hook "good": another hook`,
		`hook "": it is the zero Hook`, `hook "nil": the function is nil`,
		`hook "nil_too": the function`, `hook "and_this"`, `hook "after"`, `hook "write"`,
		`hook "two words"`) {
		t.Errorf("got %v", err)
	}
	var none *Registry
	if _, err := none.Find(api.HookAfterRun, "good"); err == nil || !expect.Contains(err.Error(),
		`"good"`, "it has none") {
		t.Errorf("got %v", err)
	}
}
