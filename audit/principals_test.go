package audit_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/internal/value/display"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// ledgerServer lists one ledger on each page, and answers queries of those in used. Others have
// ended. It has no more than fails pages.
type ledgerServer struct {
	client.Client
	ids   []string
	used  map[string]ledgerrules.PrincipalUsage
	fails int
}

func (s *ledgerServer) ListWorkflow(_ context.Context,
	r *workflowservice.ListWorkflowExecutionsRequest) (
	*workflowservice.ListWorkflowExecutionsResponse, error) {
	at := len(r.NextPageToken)
	if at == s.fails {
		return nil, errors.New("the server is away")
	}
	page := &workflowservice.ListWorkflowExecutionsResponse{
		Executions: []*workflowpb.WorkflowExecutionInfo{{
			Execution: &commonpb.WorkflowExecution{WorkflowId: s.ids[at]}}}}
	if at+1 < len(s.ids) {
		page.NextPageToken = make([]byte, at+1)
	}
	return page, nil
}

func (s *ledgerServer) QueryWorkflow(_ context.Context, id, _, query string, _ ...any) (
	converter.EncodedValue, error) {
	used, ok := s.used[id]
	switch {
	case query != api.PrincipalUsageQuery:
		return nil, errors.New("another query")
	case !ok:
		return nil, serviceerror.NewNotFound("it has ended")
	case used.Principal == "":
		return nil, errors.New("no worker answers")
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(used)
	return client.NewValue(payloads), err
}

func ledgerOf(scope api.LedgerScope, who string) string {
	return api.LedgerWorkflowID("q", scope, api.Caller{ID: who}, "talk", "")
}

// Principals without sums, ledgers of conversations and ledgers that have ended are left out.
func TestPrincipals_YieldsWhatTheirLedgersKnow(t *testing.T) {
	const principals, conversations = api.ScopePrincipalCalls, api.ScopeConversationCalls
	sums := []ledgerrules.PeriodUsage{{Period: ledgerrules.Day, Tokens: 5}}
	s := &ledgerServer{fails: -1, ids: []string{ledgerOf(principals, "ada"),
		ledgerOf(conversations, "ada"), ledgerOf(principals, "gone"), ledgerOf(principals, "bob"),
		ledgerOf(principals, "eve"), ledgerOf(principals, "max")}}
	s.used = map[string]ledgerrules.PrincipalUsage{
		s.ids[0]: {Principal: "ada", Periods: sums}, s.ids[1]: {Principal: "ada", Periods: sums},
		s.ids[3]: {Principal: "bob"}, s.ids[4]: {}, s.ids[5]: {Principal: "max", Periods: sums}}
	got := listed(t, s)
	if want := "ada 5, query the ledger " + s.ids[4] + ": no worker answers, max 5"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.fails = 1
	if got := listed(t, s); got != "ada 5, list the ledgers of principals: the server is away" {
		t.Errorf("got %s", got)
	}
	for range audit.Principals(t.Context(), s) {
		break
	}
}

func listed(t *testing.T, s *ledgerServer) string {
	t.Helper()
	var texts []string
	for used, err := range audit.Principals(t.Context(), s) {
		if err != nil {
			texts = append(texts, err.Error())
			continue
		}
		texts = append(texts, used.Principal+" "+display.Thousands(used.Periods[0].Tokens))
	}
	return strings.Join(texts, ", ")
}
