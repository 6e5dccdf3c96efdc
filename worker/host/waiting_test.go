package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/switchyard/switchyard/api"
)

// listing is a server that lists runs: three running ones of each kind, and as many waiting ones as
// memos says.
type listing struct {
	client.Client
	memos []*commonpb.Memo
	down  bool
}

func (l *listing) CountWorkflow(_ context.Context,
	r *workflowservice.CountWorkflowExecutionsRequest) (
	*workflowservice.CountWorkflowExecutionsResponse, error) {
	if l.down {
		return nil, errors.New("no such attribute")
	}
	if strings.Contains(r.GetQuery(), api.AttributeWaiting) {
		return &workflowservice.CountWorkflowExecutionsResponse{Count: int64(len(l.memos))}, nil
	}
	return &workflowservice.CountWorkflowExecutionsResponse{Count: 3}, nil
}

func (l *listing) ListWorkflow(_ context.Context,
	r *workflowservice.ListWorkflowExecutionsRequest) (
	*workflowservice.ListWorkflowExecutionsResponse, error) {
	at := len(r.GetNextPageToken())
	page := &workflowservice.ListWorkflowExecutionsResponse{
		Executions: []*workflowpb.WorkflowExecutionInfo{{Memo: l.memos[at]}}}
	if at+1 < len(l.memos) {
		page.NextPageToken = make([]byte, at+1)
	}
	return page, nil
}

func TestOpenRuns_ExportTheServersCountsAndKeepTheLastResult(t *testing.T) {
	memo := func(value any) *commonpb.Memo {
		payload, err := converter.GetDefaultDataConverter().ToPayload(value)
		if err != nil {
			t.Fatal(err)
		}
		return &commonpb.Memo{Fields: map[string]*commonpb.Payload{api.ApprovalsMemo: payload}}
	}
	server := &listing{down: true, memos: []*commonpb.Memo{memo(time.Now()),
		memo(time.Now().Add(-time.Hour)), {}, memo("no time")}}
	registry := prometheus.NewRegistry()
	o := newOpenRuns(server, "default", nil)
	registry.MustRegister(o)
	h := serve(t, registry)
	o.look(t.Context())
	if _, body := h.get(t, "/metrics"); strings.Contains(body, "switchyard_") {
		t.Errorf("metrics exist before the first count: %s", body)
	}
	server.down = false
	o.look(t.Context())
	server.down = true
	o.look(t.Context())
	h.has(t, `switchyard_runs_running{kind="agent"} 3`, `switchyard_runs_running{kind="plan"} 3`,
		`switchyard_runs_running{kind="direct"} 3`, `switchyard_runs_running{kind="session"} 3`,
		`switchyard_runs_waiting 4`)
	if _, body := h.get(t, "/metrics"); !strings.Contains(body,
		"\nswitchyard_approval_oldest_age_seconds 36") {
		t.Errorf("the oldest approval: %s", body)
	}
	observeReadiness(func() bool { return false }, func() []string {
		return []string{"gpu"}
	}, registry)
	h.has(t, `switchyard_worker_ready 0`, `switchyard_lane_served{lane="gpu"} 1`)
}
