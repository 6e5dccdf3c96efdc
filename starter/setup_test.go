package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/runstart/attributes"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/starter/cli"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// runStarter runs one command line in this process.
func runStarter(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	code = starter.Run(t.Context(), args, cli.Stdio{In: strings.NewReader(""), Out: &out,
		Err: &err})
	return code, out.String(), err.String()
}

// Runs start and end on a server that lacks some or all of our search attributes. starter names the
// missing ones, and setup registers as many as fit.
func TestSetup_RegistersMissingSearchAttributes(t *testing.T) {
	if os.Getenv("SWITCHYARD_E2E") == "" {
		t.Skip("SWITCHYARD_E2E is not set: this test runs a server; make check does")
	}
	server := testserver.NewServer(t)
	tools, err := filepath.Abs("testdata/tools")
	if err != nil {
		t.Fatal(err)
	}
	var ready map[string]any
	testserver.Start(t, &ready, nil, testserver.Bin(t, "worker"), "--address", server.Address,
		"--tools", tools, "--parent-pid", strconv.Itoa(os.Getpid()))
	operator := server.Client.OperatorService()
	remove := func(names ...string) {
		_, err := operator.RemoveSearchAttributes(context.Background(),
			&operatorservice.RemoveSearchAttributesRequest{Namespace: "default",
				SearchAttributes: names})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names { // the server reads its list of attributes every 2 s
			expect.Eventually(t, "the server forgets "+name, func() bool {
				_, err := server.Client.CountWorkflow(t.Context(),
					&workflowservice.CountWorkflowExecutionsRequest{Query: name + " IS NULL"})
				return err != nil
			})
		}
	}
	run := func(args string, code int, says ...string) {
		t.Helper()
		got, stdout, stderr := runStarter(t, append(strings.Fields(args), "--address",
			server.Address)...)
		if got != code {
			t.Errorf("starter %s: exit code %d, want %d:\n%s%s", args, got, code, stdout, stderr)
		}
		for _, text := range says {
			if !strings.Contains(stdout+stderr, text) {
				t.Errorf("starter %s does not say %q:\n%s%s", args, text, stdout, stderr)
			}
		}
	}
	all := attributes.Names(attributes.Run)
	remove(all...)
	run("call echo text=hello --id without", cli.ExitDone, "starter setup", "hello")
	run("list --tool echo", cli.ExitFailed, "lacks the search attributes SwitchyardAgent, ",
		"SwitchyardTools", "starter setup --address")
	run("records", cli.ExitDone)
	run("doctor", cli.ExitDone,
		"search attributes are missing: SwitchyardAgent, SwitchyardCaller, SwitchyardConversation, SwitchyardKind, SwitchyardOutcome")

	// One exists with another type, and two of three whole numbers belong to another program.
	_, err = operator.AddSearchAttributes(context.Background(),
		&operatorservice.AddSearchAttributesRequest{Namespace: "default",
			SearchAttributes: map[string]enumspb.IndexedValueType{
				"SwitchyardCost": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
				"Alien":          enumspb.INDEXED_VALUE_TYPE_INT,
				"Alien2":         enumspb.INDEXED_VALUE_TYPE_INT}})
	if err != nil {
		t.Fatal(err)
	}
	run("setup", cli.ExitFailed,
		"registered SwitchyardAgent, SwitchyardCaller, SwitchyardConversation, SwitchyardKind, SwitchyardOutcome, SwitchyardTools, SwitchyardWaiting, SwitchyardCalls\n",
		"cannot register SwitchyardTokens (Int), SwitchyardTurns (Int)")
	run("doctor", cli.ExitDone, "search attributes are missing: SwitchyardTokens, SwitchyardTurns",
		"have other types than Switchyard's: SwitchyardCost (Keyword, not Double)")
	run("call echo text=hello --id some", cli.ExitDone, "hello")
	remove("Alien", "Alien2")
	run("setup", cli.ExitFailed, "registered SwitchyardTokens, SwitchyardTurns",
		"SwitchyardCost (Keyword, not Double)")
	remove("SwitchyardCost")
	run("setup", cli.ExitDone, "registered SwitchyardCost")
	run("setup", cli.ExitDone, "all search attributes are registered")
	run("call echo text=hello --id with", cli.ExitDone, "hello")
	for id, want := range map[string]int{"without": 0, "some": 1, "with": 1} {
		upserts := 0
		history := server.Client.GetWorkflowHistory(t.Context(), id, "", false,
			enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for history.HasNext() {
			event, err := history.Next()
			if err != nil {
				t.Fatal(err)
			}
			if event.GetEventType() == enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES {
				upserts++
			}
		}
		if upserts != want {
			t.Errorf("the history of %s has %d upserts of search attributes, want %d", id, upserts,
				want)
		}
	}
}
