package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/test/expect"
	namespacepb "go.temporal.io/api/namespace/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

// kept is the retention of the archive.
const kept = 20 * 365 * 24 * time.Hour

func (a *archive) DescribeNamespace(context.Context,
	*workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{Config: &namespacepb.NamespaceConfig{
		WorkflowExecutionRetentionTtl: durationpb.New(kept)}}, nil
}

// closeTimes matches a bound of a query.
var closeTimes = regexp.MustCompile(`CloseTime (>=|<) '([^']*)'`)

// within reports whether a query lists an execution that ended at a time; zero for an open one.
func within(query string, closed time.Time) bool {
	if closed.IsZero() || strings.Contains(query, "CloseTime IS NULL") {
		return closed.IsZero() && strings.Contains(query, "CloseTime IS NULL")
	}
	for _, bound := range closeTimes.FindAllStringSubmatch(query, -1) {
		at, err := time.Parse(time.RFC3339Nano, bound[2])
		if err != nil || closed.Before(at) != (bound[1] == "<") {
			return false
		}
	}
	return true
}

// ListWorkflowExecutions lists the last executions of runs.
func (a *archive) ListWorkflowExecutions(
	_ context.Context,
	r *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	response := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, id := range slices.Sorted(maps.Keys(a.runs)) {
		run := a.runs[id]
		part := run.parts[len(run.parts)-1]
		info := &workflowpb.WorkflowExecutionInfo{Execution: executionOf(id, part)}
		var closed time.Time
		if run.open == nil {
			info.CloseTime = part[len(part)-1].GetEventTime()
			closed = info.CloseTime.AsTime()
		}
		if !within(r.GetQuery(), closed) {
			continue
		}
		response.Executions = append(response.Executions, info)
	}
	return response, nil
}

// entriesUntil follows the stream by batches of a size, each from the position of the one before,
// as JSON, until want is met.
func entriesUntil(t *testing.T, c client.Client, size int, want int) (entries []audit.StreamEntry) {
	t.Helper()
	stored := []byte("{}")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(entries) < want {
		var after audit.StreamPosition
		if err := json.Unmarshal(stored, &after); err != nil {
			t.Fatal(err)
		}
		for b, err := range audit.FollowAllBy(ctx, c, size, after) {
			if err != nil {
				t.Fatalf("after %d entries and %s: %v", len(entries), stored, err)
			}
			entries, stored = append(entries, b.Entries...), mustJSON(t, b.Position)
			if len(b.Entries) > 0 {
				break
			}
		}
	}
	return entries
}

// A reader that stops after any batch and continues in another process gets each call and each run
// once, sub-agents and runs over continue-as-new included.
func TestFollowAll_ReturnsEachEntryOnceFromAnyPosition(t *testing.T) {
	runs := map[string]*archivedRun{"open": openRun(t)}
	for _, s := range scenarios() {
		if s.name == "agent" {
			continue // the open run is its beginning
		}
		runs[s.name] = &archivedRun{parts: histories(t, s.name), lost: -1}
	}
	c := serve(t, runs)
	want := map[string]int{}
	for id := range runs {
		for _, e := range collect(t, audit.Records(t.Context(), c, id, "")) {
			if e.Status != "running" {
				want[e.Run+"/"+e.CallID]++
			}
		}
		if s, err := audit.Describe(t.Context(), c, id, ""); err != nil {
			t.Fatal(err)
		} else if !s.Closed.IsZero() {
			want[s.Run]++
		}
	}
	for _, size := range []int{1, 7, 500} {
		got := map[string]int{}
		for _, e := range entriesUntil(t, c, size, len(want)) {
			got[e.Key]++
		}
		if !maps.Equal(got, want) {
			for key, n := range want {
				if got[key] != n {
					t.Errorf("batches of %d: %s comes %d times, want %d", size, key, got[key], n)
				}
			}
			t.Errorf("batches of %d: %d entries, want %d", size, len(got), len(want))
		}
	}
}

// The stream tells what it could not read: first histories that are deleted, a run that is deleted,
// and a period that is past retention.
func TestFollowAll_TellsGaps(t *testing.T) {
	parts := histories(t, "continued")
	c := serve(t, map[string]*archivedRun{
		"rest": {parts: parts, lost: 0},
		"gone": {parts: histories(t, "agent"), lost: 0},
	})
	first := start(parts[0]).GetFirstExecutionRunId()
	second := start(parts[1]).GetOriginalExecutionRunId()
	gone := start(histories(t, "agent")[0]).GetOriginalExecutionRunId()
	after := audit.StreamPosition{Closed: time.Now().UTC().Add(-kept - time.Hour)}
	reasons := map[string]string{}
	for b, err := range audit.FollowAllBy(t.Context(), c, 500, after) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Entries {
			if e.Gap != nil {
				reasons[e.Key] = e.Gap.Reason
			}
		}
		if len(reasons) >= 3 {
			break
		}
	}
	want := map[string]string{
		"gap/" + first + "/" + second: "the first histories of the run are deleted",
		"gap/" + gone: fmt.Sprintf("no such run: workflow %q, run %q: it never existed, or its "+
			"retention has ended", "gone", gone),
		"gap/" + after.Closed.Format(time.RFC3339Nano): "the server keeps runs that have ended for " +
			"175200h0m0s: runs that ended in this period may be deleted",
	}
	if !maps.Equal(reasons, want) {
		t.Errorf("the gaps are\n%q, want\n%q", reasons, want)
	}
}

// A reader that ends its loop stops the stream, and one whose context ends gets its error.
func TestFollowAll_EndsWithItsReader(t *testing.T) {
	c := serve(t, map[string]*archivedRun{"agent": {parts: histories(t, "agent"), lost: -1}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		var last error
		for b, err := range audit.FollowAllBy(ctx, c, 500, audit.StreamPosition{}) {
			if last = err; len(b.Entries) > 0 {
				cancel()
			}
		}
		ended <- last
	}()
	if err := expect.Receive(t, "the end of the stream", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the stream ended with %v", err)
	}
}
