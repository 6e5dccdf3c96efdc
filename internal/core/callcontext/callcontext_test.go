package callcontext

import (
	"context"
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// Outside of a call there is no context.
func TestContextOf_ReturnsTheCall(t *testing.T) {
	if c, ok := From(t.Context()); ok {
		t.Errorf("a context outside of a call holds %+v", c)
	}
	want := api.CallContext{CallID: "3.1", Tool: "echo", Attempt: 2, Key: "r/3.1",
		Origin: api.Origin{Run: "r", Caller: api.Caller{Type: api.CallerAgent, ID: "a"}}}
	got, ok := From(With(With(t.Context(), api.CallContext{CallID: "outer"}),
		want))
	if !ok || got.CallID != want.CallID || got.Run != "r" || !reflect.DeepEqual(got.Caller, want.Caller) ||
		got.Attempt != 2 || got.Key != want.Key {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Without one it has no effect.
func TestReportProgress_CallsTheContextsFunction(t *testing.T) {
	var got []api.Progress
	ctx := WithProgress(context.Background(), func(p api.Progress) { got = append(got, p) })
	ReportProgress(ctx, api.Progress{Done: 1, Total: 2, Message: "half"})
	ReportProgress(context.Background(), api.Progress{Done: 2})
	if len(got) != 1 || got[0] != (api.Progress{Done: 1, Total: 2, Message: "half"}) {
		t.Errorf("got %v", got)
	}
}
