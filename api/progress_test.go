package api

import (
	"context"
	"testing"
)

// Without one it has no effect.
func TestReportProgress_CallsTheContextsFunction(t *testing.T) {
	var got []Progress
	ctx := WithProgress(context.Background(), func(p Progress) { got = append(got, p) })
	ReportProgress(ctx, Progress{Done: 1, Total: 2, Message: "half"})
	ReportProgress(context.Background(), Progress{Done: 2})
	if len(got) != 1 || got[0] != (Progress{Done: 1, Total: 2, Message: "half"}) {
		t.Errorf("got %v", got)
	}
}
