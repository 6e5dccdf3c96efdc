package workflows_test

import (
	"context"
	"time"

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
