package hooks

import (
	"context"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
)

func TestNew_ListsEveryFault(t *testing.T) {
	good := tool.NewAfterRun("good",
		func(context.Context, tool.HookEnd) error { return nil })
	_, err := New(good, good, tool.Hook{}, tool.NewBeforeCall("nil", nil),
		tool.NewBeforeRun("nil_too", nil), tool.NewMemoryRetrieve("and_this", nil),
		tool.NewAfterCall("after", nil), tool.NewMemoryWrite("write", nil),
		tool.NewAfterRun("two words",
			func(context.Context, tool.HookEnd) error { return nil }))
	if err == nil || err.Error() != "hook \"good\": another hook has this name too\nhook \"\": it is the zero Hook; make it with NewBeforeRun, NewBeforeCall or another constructor\nhook \"nil\": the function is nil\nhook \"nil_too\": the function is nil\nhook \"and_this\": the function is nil\nhook \"after\": the function is nil\nhook \"write\": the function is nil\nhook \"two words\": name \"two words\" contains ' '; models accept only letters, digits, _ and - (github.search becomes github_search)" {
		t.Errorf("got %v", err)
	}
	var none *Registry
	if _, err := none.Find(api.HookAfterRun, "good"); err == nil || err.Error() != `the worker has no hook "good" for after_run; it has none` {
		t.Errorf("got %v", err)
	}
}
