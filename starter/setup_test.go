package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/testserver"
	"go.temporal.io/api/operatorservice/v1"
)

// starter runs one command line in this process.
func starter(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	code = Run(t.Context(), args, Stdio{In: strings.NewReader(""), Out: &out, Err: &err})
	return code, out.String(), err.String()
}

// TestSetup proves that a server without our search attributes still takes runs, that starter says what is missing, and
// that setup registers it.
func TestSetup(t *testing.T) {
	if os.Getenv("SWITCHYARD_E2E") == "" {
		t.Skip("SWITCHYARD_E2E is not set: this test runs a server; make check does")
	}
	server := testserver.NewServer(t)
	_, err := server.Client.OperatorService().RemoveSearchAttributes(context.Background(),
		&operatorservice.RemoveSearchAttributesRequest{Namespace: "default", SearchAttributes: attributeNames})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"call echo text=hello --detach --id without", exitDone, "starter setup"},
		{"doctor", exitFailed, "search attributes are missing: SwitchyardAgent, SwitchyardCaller, SwitchyardConversation, SwitchyardKind"},
		{"setup", exitDone, "registered SwitchyardAgent, SwitchyardCaller, SwitchyardConversation, SwitchyardKind"},
		{"setup", exitDone, "all search attributes are registered"},
		{"call echo text=hello --detach --id with", exitDone, "with"},
	} {
		args := append(strings.Fields(c.args), "--address", server.Address)
		code, stdout, stderr := starter(t, args...)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("starter %s: exit code %d, want %d and %q:\n%s%s", c.args, code, c.code, c.says, stdout, stderr)
		}
	}
}
