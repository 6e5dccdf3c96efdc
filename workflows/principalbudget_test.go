package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// budget sets a budget of the workers.
func (l *lab) budget(tokens string) {
	l.t.Helper()
	var err error
	l.budgets, err = policies.Decode("rules.yaml",
		[]byte("budgets: [{name: monthly, period: month, tokens: "+tokens+"}]"))
	if err != nil {
		l.t.Fatal(err)
	}
}

func (c queryClient) spent() (converter.EncodedValue, error) {
	c.lab.mu.Lock()
	defer c.lab.mu.Unlock()
	used := c.lab.spent
	used.Period = ledgerrules.Month
	used.Start, _ = ledgerrules.PeriodBounds(ledgerrules.Month, time.Now())
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(
		ledgerrules.PrincipalUsage{Periods: []ledgerrules.PeriodUsage{used}})
	return client.NewValue(payloads), err
}

// SignalWithStartWorkflow takes what model steps used.
func (c queryClient) SignalWithStartWorkflow(_ context.Context, _, _ string, used any,
	_ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	c.lab.mu.Lock()
	defer c.lab.mu.Unlock()
	news, ok := used.(ledgerrules.News)
	if !ok {
		c.lab.t.Errorf("the ledger was told %+v", used)
	}
	for _, step := range news.Used {
		c.lab.spent.Tokens += step.Tokens
	}
	return nil, nil
}

// A run whose principal has used a budget up ends before its next model step, without a last
// answer, which would cost more. It does not ask for more, and earlier calls keep their results.
func TestPrincipalBudget_EndsTheRun(t *testing.T) {
	for _, lane := range []string{"", api.LaneInline} {
		for _, at := range []api.LimitAction{"", api.LimitStops, api.LimitAsks} {
			t.Run(lane+" "+string(at), func(t *testing.T) {
				l := newLab(t)
				l.budget("30")
				a := listedAgent()
				a.Model.Lane, a.Limits.OnReached = lane, at
				greet := api.Message{Calls: []api.Call{{Tool: "greet", Arguments: `{"name":"Ann"}`}}}
				l.modelAnswers(greet, greet, greet)
				l.runAgent(a, "Go.")
				r := l.result()
				if r.Outcome != api.OutcomeLimit || r.Limit != "principal" || !strings.HasPrefix(
					r.Answer, "The budget monthly of ") || len(l.prompts) != 2 || r.Usage.Turns != 2 {
					t.Errorf("%d steps, result %+v", len(l.prompts), r)
				}
				expect(t, "executed", l.executed, []string{"1.1 greet", "2.1 greet"})
			})
		}
	}
}

// A run that begins with a used up budget makes no step.
func TestPrincipalBudget_LetsNoRunBegin(t *testing.T) {
	l := newLab(t)
	l.budget("1")
	l.spent.Tokens = 1
	l.runAgent(listedAgent(), "Go.")
	if r := l.result(); r.Limit != "principal" || len(l.prompts) != 0 || r.Usage.Turns != 0 {
		t.Errorf("%d steps, result %+v", len(l.prompts), r)
	}
}
