package turn

import (
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

func TestFutures_DropThoseThatHaveEnded(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	const chain = 100
	ended, most := 0, 0
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		var f Futures
		slow := false
		f.Add(workflow.NewTimer(ctx, time.Hour), func(workflow.Future) { slow = true })
		for range chain {
			f.Add(workflow.NewTimer(ctx, time.Second), func(workflow.Future) { ended++ })
			f.Wait(ctx)
			most = max(most, len(f.open))
		}
		f.Wait(ctx)
		if !slow {
			t.Error("the first timer did not end")
		}
		return nil
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if ended != chain || most > 4 {
		t.Errorf("%d futures ended and at most %d were kept, want %d and at most 4", ended, most,
			chain)
	}
}

func TestFutures_EndInTheOrderInWhichTheyWereAdded(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	var order []int
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		var f Futures
		for i := range 5 {
			future, end := workflow.NewFuture(ctx)
			end.SetValue(nil)
			f.Add(future, func(workflow.Future) { order = append(order, i) })
		}
		for range 5 {
			f.Wait(ctx)
		}
		return nil
	})
	for i, got := range order {
		if got != i || len(order) != 5 {
			t.Fatalf("the futures ended in the order %v", order)
		}
	}
}
