package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/audit/history"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Wrapped errors have the same exit code.
func TestExitCodes_FollowTheTypeOfTheError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
		says string
	}{
		{nil, ExitDone, ""},
		{Errorf(ExitUsage, "wrong"), ExitUsage, "wrong"},
		{Exit(ExitCancelled), ExitCancelled, ""},
		{toolspecs.Faults{{File: "a.yaml", Line: 1, Column: 2, Message: "no"}}, ExitUsage,
			"a.yaml:1:2: no"},
		{fmt.Errorf("load: %w", toolspecs.Faults{{File: "a.yaml", Message: "no"}}), ExitUsage,
			"a.yaml: no"},
		{context.Canceled, ExitCancelled, "interrupted"},
		{context.DeadlineExceeded, ExitUnserved, "starter dev"},
		{serviceerror.NewUnavailable("down"), ExitUnserved, "starter dev"},
		{status.Error(codes.Unavailable, "down"), ExitUnserved, "starter dev"},
		{fmt.Errorf("dial: %w", serviceerror.NewDeadlineExceeded("late")), ExitUnserved,
			"starter dev"},
		{serviceerror.NewPermissionDenied("no", "no"), ExitUnserved, "TEMPORAL_API_KEY"},
		{serviceerror.NewNamespaceNotFound("nix"), ExitUsage, `no namespace "nix"`},
		{serviceerror.NewNotFound("gone"), ExitFailed, "starter list"},
		{serviceerror.NewInvalidArgument("odd"), ExitFailed, "odd"},
		{errors.New("anything"), ExitFailed, "anything"},
	} {
		var stderr strings.Builder
		a := &App{Stdio: Stdio{Err: &stderr}}
		if got := a.Report(c.err); got != c.want || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%v: exit code %d with %q, want %d with %q", c.err, got, stderr.String(),
				c.want, c.says)
		}
	}
}

func TestLookupErrors_DifferFromLostConnections(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
		says string
	}{
		{fmt.Errorf("read: %w", audit.ErrNotFound), ExitFailed, "starter: there is no run \"x\", or the server no longer has it\nList the runs: starter list\n"},
		{serviceerror.NewNotFound("gone"), ExitFailed, "starter: there is no run \"x\", or the server no longer has it\nList the runs: starter list\n"},
		{history.ErrNotARun, ExitFailed, "starter: the workflow \"x\" is not a run of Switchyard\nList the runs: starter list\n"},
		{serviceerror.NewUnavailable("down"), ExitUnserved, "starter: lost the connection to the server (down); the run is not affected\nFollow it again: starter watch x\n"},
	} {
		var stderr strings.Builder
		a := &App{Stdio: Stdio{Err: &stderr}}
		if got := a.Report(a.LookupError("x", "", c.err)); got != c.want ||
			stderr.String() != c.says {
			t.Errorf("%v: exit code %d with %q, want %d with %q", c.err, got, stderr.String(),
				c.want, c.says)
		}
	}
}

func TestReport_NamesTheOpenRunInJSON(t *testing.T) {
	var stdout strings.Builder
	a := &App{Stdio: Stdio{Out: &stdout}, Format: Format{Output: "json"}}
	code := a.Report(UnservedError("demo", "r1", "no worker"))
	want := `{"error":"no worker","workflow_id":"demo","run_id":"r1"}` + "\n"
	if code != 4 || stdout.String() != want {
		t.Errorf("exit code %d with %s, want 4 with %s", code, stdout.String(), want)
	}
}
