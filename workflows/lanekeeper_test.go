package workflows_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/workflows/lanes"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// keeperLab runs a keeper whose groups have holders until they are no longer needed, or as a test
// says.
type keeperLab struct {
	*testsuite.TestWorkflowEnvironment

	mu     sync.Mutex
	taken  []lanerules.SlotsRequest
	holder func(ctx context.Context, r lanerules.SlotsRequest, n int) (lanerules.SlotsState, error)
}

func newKeeperLab() *keeperLab {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(discard)
	l := &keeperLab{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment()}
	l.RegisterWorkflowWithOptions(lanes.LaneKeeper,
		workflow.RegisterOptions{Name: api.LaneSlotsWorkflow})
	l.RegisterActivityWithOptions(func(ctx context.Context,
		r lanerules.SlotsRequest) (lanerules.SlotsState,
		error) {
		l.mu.Lock()
		l.taken = append(l.taken, r)
		n := len(l.taken)
		l.mu.Unlock()
		if l.holder != nil {
			if s, err := l.holder(ctx, r, n); s.Fence > 0 || err != nil {
				return s, err
			}
		}
		// The environment does not wait for cancelled activities, and lets no time pass while an
		// activity runs.
		return lanerules.SlotsState{}, activity.ErrResultPending
	}, activity.RegisterOptions{Name: api.ServeSlotsActivity})
	l.SetTestTimeout(20 * time.Second)
	return l
}

func (l *keeperLab) groups() (groups []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.taken {
		groups = append(groups, r.Group)
	}
	return groups
}

// next returns the input with which the keeper continued as new.
func (l *keeperLab) next(t *testing.T) (in lanerules.KeeperInput) {
	t.Helper()
	next, ok := errors.AsType[*workflow.ContinueAsNewError](l.GetWorkflowError())
	if !ok {
		t.Fatalf("the keeper ended with %v after it offered %v", l.GetWorkflowError(), l.groups())
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
		t.Fatal(err)
	}
	return in
}

// An execution has one division of the lane. Another one is offered by the next execution, with
// larger fencing numbers, because a key can move from any of the old groups to any of the new ones.
// The keeper ends when the lane has no limit.
func TestKeeper_OffersEveryGroup(t *testing.T) {
	lane := api.Lane{Name: "gpu", Limit: 4, Holders: 2}
	in := lanerules.KeeperInput{Lane: lane, Base: "q"}
	var fence int64
	for _, holders := range []int{3, 2} {
		l := newKeeperLab()
		offered := in.Lane.Holders
		next := lane
		next.Holders = holders
		l.RegisterDelayedCallback(func() { l.SignalWorkflow(api.ConfigureLaneSignal, next) },
			time.Second)
		l.ExecuteWorkflow(api.LaneSlotsWorkflow, in)
		in = l.next(t)
		groups := l.groups()
		slices.Sort(groups)
		if want := []int{0, 1, 2}[:offered]; !slices.Equal(groups, want) {
			t.Errorf("offered %v, want %v", groups, want)
		}
		if in.Lane.Holders != holders || in.Base != "q" {
			t.Errorf("continues with %+v", in)
		}
		for _, r := range l.taken {
			if r.Fence < fence || r.Lane.Limit != 4 || r.Base != "q" {
				t.Errorf("offered %+v after the fencing number %d", r, fence)
			}
		}
		fence = slices.Max(in.Fences)
	}
	l := newKeeperLab()
	l.RegisterDelayedCallback(func() {
		l.SignalWorkflow(api.ConfigureLaneSignal, api.Lane{Name: "gpu"})
	}, time.Second)
	l.ExecuteWorkflow(api.LaneSlotsWorkflow, in)
	if err := l.GetWorkflowError(); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

// The groups stay with their workers, whatever the length of the history: to release them would
// stop the lane until its running calls have ended.
func TestKeeper_KeepsItsGroupsWhenItsHistoryIsLong(t *testing.T) {
	l := newKeeperLab()
	lane := api.Lane{Name: "gpu", Limit: 4, Holders: 2}
	l.SetContinueAsNewSuggested(true)
	for n := range 50 {
		same := lane
		same.Limit = 5 + n // the holders know
		l.RegisterDelayedCallback(func() { l.SignalWorkflow(api.ConfigureLaneSignal, same) },
			time.Duration(n+1)*time.Second)
	}
	l.RegisterDelayedCallback(func() {
		if groups := l.groups(); len(groups) != 2 {
			t.Errorf("offered %v", groups)
		}
		l.CancelWorkflow()
	}, time.Hour)
	l.ExecuteWorkflow(api.LaneSlotsWorkflow, lanerules.KeeperInput{Lane: lane, Base: "q"})
	if err := l.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("the keeper ended with %v", err)
	}
}

// A worker that starts compares the memo with its own division. The memo is reported before the
// groups are released, because their calls can run for long.
func TestKeeper_ReportsANewDivisionBeforeItReleasesTheGroups(t *testing.T) {
	l := newKeeperLab()
	lane := api.Lane{Name: "gpu", Limit: 4, Holders: 2}
	other := lane
	other.Holders = 3
	groups := lanerules.DescribeGroups(other)
	l.OnUpsertMemo(map[string]any{api.HoldersMemo: groups}).Return(nil).Once()
	released := 0
	l.SetOnActivityCanceledListener(func(*activity.Info) {
		released++
		l.AssertExpectations(t)
	})
	for n, to := range []api.Lane{lane, other} {
		l.RegisterDelayedCallback(func() { l.SignalWorkflow(api.ConfigureLaneSignal, to) },
			time.Duration(n+1)*time.Second)
	}
	l.ExecuteWorkflow(api.LaneSlotsWorkflow, lanerules.KeeperInput{Lane: lane, Base: "q"})
	if l.next(t); released != 2 {
		t.Errorf("released %d groups", released)
	}
}

// The fencing number is larger than that of every earlier holder. The first one is at least the
// time, so it is larger than those of an earlier keeper of the lane.
func TestKeeper_OffersEndedGroupsAgain(t *testing.T) {
	l := newKeeperLab()
	l.holder = func(_ context.Context, r lanerules.SlotsRequest, n int) (lanerules.SlotsState,
		error) {
		switch n {
		case 1:
			return lanerules.SlotsState{Fence: r.Fence + 7}, nil
		case 2:
			return lanerules.SlotsState{},
				temporal.NewNonRetryableApplicationError("ended by an operator", "operator", nil)
		}
		return lanerules.SlotsState{}, nil
	}
	l.RegisterDelayedCallback(l.CancelWorkflow, time.Hour)
	began := time.Now()
	l.SetStartTime(began)
	l.ExecuteWorkflow(api.LaneSlotsWorkflow, lanerules.KeeperInput{Lane: api.Lane{Name: "serial",
		Limit: 1, Holders: 1}, Base: "q"})
	if err := l.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("a cancelled keeper ends with %v", err)
	}
	if len(l.taken) != 3 || l.taken[0].Fence < began.UnixMilli() ||
		l.taken[1].Fence != l.taken[0].Fence+7 || l.taken[2].Fence <= l.taken[1].Fence+1000 {
		t.Errorf("offered %+v", l.taken)
	}
}
