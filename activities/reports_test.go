package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/toolspecs"
)

// What a tool reports shortly before its end is in its result, without secrets.
func TestReports_AreInTheResult(t *testing.T) {
	b, compiled := toolBench(t, nil, func(ctx context.Context, _ *toolspecs.Spec,
		_ json.RawMessage) (executor.Answer, error) {
		executor.RedactorFromContext(ctx).Hide("planted-secret")
		callcontext.ReportProgress(ctx, api.Progress{Done: 1, Total: 2, Message: "planted-secret"})
		callcontext.ReportProgress(ctx, api.Progress{Done: math.Inf(1)})
		callcontext.Log(ctx, api.LogLine{Level: "info", Logger: "l",
			Data: json.RawMessage(`{"a":"planted-secret"}`)})
		return executor.Answer{Output: json.RawMessage("1")}, nil
	})
	result, err := b.execute(t, executionOf(compiled), nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(result.Reports)
	const want = `[{"progress":{"done":1,"total":2,"message":"[secret]"}},` +
		`{"log":{"level":"info","logger":"l","data":{"a":"[secret]"}}}]`
	if err != nil || string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

func TestReports_KeepTheLastOnes(t *testing.T) {
	r := &reports{}
	ctx := r.withCollector(t.Context())
	line := func(text string) {
		data, _ := json.Marshal(text)
		callcontext.Log(ctx, api.LogLine{Level: "info", Data: data})
	}
	line("first")
	for i := range 100 {
		line(fmt.Sprint(i, strings.Repeat("x", 100)))
	}
	line(strings.Repeat("x", api.MaxReports)) // dropped
	kept := r.kept()
	data, _ := json.Marshal(kept)
	last := string(kept[len(kept)-1].Log.Data)
	if len(data) > api.MaxReports+1 || len(data) < api.MaxReports-300 || !strings.Contains(last, "99x") {
		t.Errorf("%d reports of %d bytes, the last one %s", len(kept), len(data), last)
	}
	none := &reports{inline: true}
	callcontext.Log(none.withCollector(t.Context()), api.LogLine{Data: json.RawMessage("1")})
	if none.kept() != nil {
		t.Error("an inline call kept something")
	}
}
