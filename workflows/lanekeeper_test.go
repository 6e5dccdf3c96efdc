package workflows_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/lanes"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// keeperLab runs a keeper whose groups have holders until they are no longer needed, or as a test
// says.
type keeperLab struct {
	*testsuite.TestWorkflowEnvironment

	mu     sync.Mutex
	taken  []api.SlotsRequest
	holder func(ctx context.Context, r api.SlotsRequest, n int) (api.SlotsState, error)
}

func newKeeperLab() *keeperLab {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(discard)
	l := &keeperLab{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment()}
	l.RegisterWorkflowWithOptions(lanes.LaneKeeper,
		workflow.RegisterOptions{Name: api.LaneSlotsWorkflow})
	l.RegisterActivityWithOptions(func(ctx context.Context, r api.SlotsRequest) (api.SlotsState,
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
		return api.SlotsState{}, activity.ErrResultPending
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

// If the division of the lane changes, all groups are released before the new ones are offered,
// with increasing fencing numbers. The keeper ends when the lane has no limit.
func TestKeeper_OffersEveryGroup(t *testing.T) {
	l := newKeeperLab()
	lane := api.Lane{Name: "gpu", Limit: 4, Holders: 2}
	l.RegisterDelayedCallback(func() {
		same := lane
		same.Limit = 5
		l.SignalWorkflow(api.ConfigureLaneSignal, same) // the holders see to that
	}, time.Second)
	l.RegisterDelayedCallback(func() {
		other := lane
		other.Holders = 3
		l.SignalWorkflow(api.ConfigureLaneSignal, other)
	}, 2*time.Second)
	l.RegisterDelayedCallback(func() {
		l.SignalWorkflow(api.ConfigureLaneSignal,
			api.Lane{Name: "gpu"})
	}, 3*time.Second)
	l.ExecuteWorkflow(api.LaneSlotsWorkflow, api.KeeperInput{Lane: lane, Base: "q"})
	if err := l.GetWorkflowError(); err != nil {
		t.Fatal(err, l.groups())
	}
	taken := l.groups()
	first, then := taken[:2], taken[2:]
	slices.Sort(first)
	slices.Sort(then)
	if !slices.Equal(first, []int{0, 1}) || !slices.Equal(then, []int{0, 1, 2}) {
		t.Fatalf("offered %v, then %v", first, then)
	}
	for _, r := range l.taken[2:] {
		// A key can move from any of the old groups to any of the new ones.
		if r.Fence <= max(l.taken[0].Fence, l.taken[1].Fence) || r.Lane.Limit != 4 ||
			r.Base != "q" {
			t.Errorf("offered %+v", r)
		}
	}
}

// The fencing number is larger than that of every earlier holder. The first one is at least the
// time, so it is larger than those of an earlier keeper of the lane.
func TestKeeper_OffersEndedGroupsAgain(t *testing.T) {
	l := newKeeperLab()
	l.holder = func(_ context.Context, r api.SlotsRequest, n int) (api.SlotsState, error) {
		switch n {
		case 1:
			return api.SlotsState{Fence: r.Fence + 7}, nil
		case 2:
			return api.SlotsState{},
				temporal.NewNonRetryableApplicationError("ended by an operator", "operator", nil)
		}
		return api.SlotsState{}, nil
	}
	l.RegisterDelayedCallback(l.CancelWorkflow, time.Hour)
	began := time.Now()
	l.SetStartTime(began)
	l.ExecuteWorkflow(api.LaneSlotsWorkflow, api.KeeperInput{Lane: api.Lane{Name: "serial",
		Limit: 1, Holders: 1}, Base: "q"})
	if err := l.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("a cancelled keeper ends with %v", err)
	}
	if len(l.taken) != 3 || l.taken[0].Fence < began.UnixMilli() ||
		l.taken[1].Fence != l.taken[0].Fence+7 || l.taken[2].Fence <= l.taken[1].Fence+1000 {
		t.Errorf("offered %+v", l.taken)
	}
}
