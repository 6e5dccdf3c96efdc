package ledgers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/internal/value/display"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
)

// countWithin bounds the time in which a ledger is told what a model step used.
const countWithin = 30 * time.Second

// Budgets are the budgets of one principal. The zero value limits nothing.
type Budgets struct {
	client *Client
	ledger Ledger
	all    []ledgerrules.Budget
}

// SelectBudgets returns those of all budgets that are for the principal of a run.
func (c *Client) SelectBudgets(run *api.Setup, all []ledgerrules.Budget) Budgets {
	who := run.Caller.Identity()
	b := Budgets{client: c, ledger: Ledger{Queue: run.Queue, Scope: api.ScopePrincipalCalls,
		Of: who, Auth: run.Caller.Auth,
		ID: api.LedgerWorkflowID(run.Queue, api.ScopePrincipalCalls, run.Caller, "", "")}}
	for _, one := range all {
		if ledgerrules.AppliesTo(one, who) {
			b.all = append(b.all, one)
		}
	}
	return b
}

// DescribeExhausted says which budget is used up; empty if none is. The error is that of the
// server.
func (b Budgets) DescribeExhausted(ctx context.Context) (string, error) {
	if len(b.all) == 0 {
		return "", nil
	}
	l, release := b.client.with(b.ledger.ID)
	defer release()
	answers, err := l.usage.do(ctx, struct{}{})
	if err != nil {
		return "", fmt.Errorf("the ledger of the principal's budgets does not answer: %w", err)
	}
	now := time.Now()
	for _, one := range b.all {
		if spent := ledgerrules.DescribeSpent(one, answers[0].Periods, now); spent != "" {
			_, next := ledgerrules.PeriodBounds(one.Period, now)
			return fmt.Sprintf("The budget %s of %s is used up: %s in this %s. The next one begins "+
				"at %s.", one.Name, display.Shorten(b.ledger.Of, 100), spent, one.Period,
				next.Format(time.RFC3339)), nil
		}
	}
	return "", nil
}

// queryUsage asks a ledger once for n that wait. A ledger that does not exist has added up nothing.
func (c *Client) queryUsage(ctx context.Context, ledger string,
	n int) ([]ledgerrules.PrincipalUsage,
	error) {
	var used ledgerrules.PrincipalUsage
	value, err := c.client.QueryWorkflow(ctx, ledger, "", api.PrincipalUsageQuery)
	if err == nil {
		err = value.Get(&used)
	}
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		err = nil
	}
	return slices.Repeat([]ledgerrules.PrincipalUsage{used}, n), err
}

// Count tells the ledger what a model step used. It tries again for half a minute.
func (b Budgets) Count(ctx context.Context, used api.Usage) {
	if len(b.all) == 0 {
		return
	}
	step := ledgerrules.StepUsage{Tokens: used.InputTokens + used.OutputTokens,
		Cost: used.Cost}
	for _, one := range b.all {
		step.Periods = append(step.Periods, one.Period)
	}
	slices.Sort(step.Periods)
	step.Periods = slices.Compact(step.Periods)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countWithin)
	defer cancel()
	l, release := b.client.with(b.ledger.ID)
	defer release()
	_, err := l.news.do(ctx, news{ledgerrules.News{Used: []ledgerrules.StepUsage{step}}, &b.ledger})
	if err != nil && activity.IsActivity(ctx) {
		activity.GetLogger(ctx).Error("a model step is missing in the budgets of its principal",
			"principal", b.ledger.Of, "tokens", step.Tokens, "cost", step.Cost, "error", err)
	}
}
