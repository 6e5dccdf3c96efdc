package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	"github.com/switchyard/switchyard/workflows/keeper"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// lab runs the workflow of one instance with scripted hosts.
type lab struct {
	*testsuite.TestWorkflowEnvironment
	// hosts are the ends of the hosts, in order; asked are the requests to them.
	hosts []func(context.Context) (api.InstanceProgress, error)
	asked []api.HostInstanceRequest
	// closed are the requests to close the instance.
	closed []instancerules.CloseRequest
	// ended are the workflow IDs of runs that have ended; searches counts the questions for them.
	ended    map[string]bool
	searches int
}

func newLab(hosts ...func(context.Context) (api.InstanceProgress, error)) *lab {
	var suite testsuite.WorkflowTestSuite
	l := &lab{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), hosts: hosts}
	l.RegisterWorkflowWithOptions(keeper.Instance,
		workflow.RegisterOptions{Name: api.InstanceWorkflow})
	l.RegisterActivityWithOptions(func(ctx context.Context,
		r api.HostInstanceRequest) (api.InstanceProgress, error) {
		l.asked = append(l.asked, r)
		return l.hosts[len(l.asked)-1](ctx)
	}, activity.RegisterOptions{Name: api.HostInstanceActivity})
	l.RegisterActivityWithOptions(func(_ context.Context, r instancerules.CloseRequest) error {
		l.closed = append(l.closed, r)
		return nil
	}, activity.RegisterOptions{Name: api.CloseInstanceActivity})
	l.RegisterActivityWithOptions(func(_ context.Context,
		users []instancerules.User) ([]instancerules.User, error) {
		l.searches++
		return slices.DeleteFunc(users, func(u instancerules.User) bool {
			return !l.ended[u.WorkflowID]
		}), nil
	}, activity.RegisterOptions{Name: api.FindEndedUsersActivity})
	l.SetTestTimeout(20 * time.Second)
	return l
}

// tells expects a signal to the run of the workflow ID, and answers it with err.
func (l *lab) tells(id string, ended instancerules.Ended, err error) {
	l.OnSignalExternalWorkflow("default-test-namespace", id, "", api.InstanceEndedSignal,
		ended).Return(err).Once()
}

func (l *lab) left(t *testing.T, in instancerules.KeeperInput) (left instancerules.Left) {
	t.Helper()
	l.ExecuteWorkflow(api.InstanceWorkflow, in)
	if err := l.GetWorkflowResult(&left); err != nil {
		t.Fatal(err)
	}
	l.AssertExpectations(t)
	return left
}

// next runs the workflow and returns the input with which it continues as new.
func (l *lab) next(t *testing.T, in instancerules.KeeperInput) (next instancerules.KeeperInput) {
	t.Helper()
	l.ExecuteWorkflow(api.InstanceWorkflow, in)
	again, ok := errors.AsType[*workflow.ContinueAsNewError](l.GetWorkflowError())
	if !ok {
		t.Fatal(l.GetWorkflowError())
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &next); err != nil {
		t.Fatal(err)
	}
	return next
}

var (
	talk = instancerules.User{WorkflowID: "talk", Ticket: "1"}
	used = api.InstanceProgress{Generation: 3, Used: true, State: []byte("state")}
	// told is what runs are told of used.
	told = api.InstanceProgress{Generation: 3, Used: true}
)

func input(onLoss api.OnLoss, users ...instancerules.User) instancerules.KeeperInput {
	return instancerules.KeeperInput{Host: api.HostInstanceRequest{Tool: "counter", Queue: "q"},
		Tool: api.Tool{Name: "counter", OnLoss: onLoss, Heartbeat: api.Duration(time.Second),
			Scope: api.ScopeConversation},
		Conversation: "talk", Users: users}
}

func ends(p api.InstanceProgress, err error) func(context.Context) (api.InstanceProgress, error) {
	return func(context.Context) (api.InstanceProgress, error) { return p, err }
}

func serves(context.Context) (api.InstanceProgress, error) {
	return api.InstanceProgress{}, activity.ErrResultPending
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// The snapshot is for the next workflow of the ID, not for the runs.
func TestInstance_TellsItsRunsThatItWasIdle(t *testing.T) {
	l := newLab(ends(used, nil))
	l.tells("talk", instancerules.Ended{Ticket: "1", Instance: "counter", Last: told}, nil)
	expect(t, "left", l.left(t, input(api.OnLossFail, talk)), instancerules.Left{Last: used})
	asked := l.asked[0]
	if asked.Origin.Run == "" || asked.Origin.Conversation != "talk" || asked.Queue != "q" {
		t.Errorf("asked for %+v", asked)
	}
}

// A loss that no run knows is left to the next run.
func TestInstance_LeavesALossThatNoRunKnows(t *testing.T) {
	const why = "its worker was lost or could not reach Temporal"
	lost := instancerules.Ended{Ticket: "1", Instance: "counter", Last: told,
		Error: &api.Error{Type: api.ErrWorkerLost, Phase: api.PhaseExecution, Message: why}}
	for name, test := range map[string]struct {
		told error
		want instancerules.Left
	}{
		"told":     {nil, instancerules.Left{Last: told, Vanished: true}},
		"not told": {errors.New("it has ended"), instancerules.Left{Last: told, Vanished: true, Lost: why}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(ends(used, temporal.NewHeartbeatTimeoutError(used)))
			l.tells("talk", lost, test.told)
			expect(t, "left", l.left(t, input(api.OnLossFail, talk)), test.want)
		})
	}
	t.Run("the next run", func(t *testing.T) {
		l := newLab()
		in := input(api.OnLossFail, talk)
		in.Host.Last, in.Host.Lost, in.Lost = told, true, why
		l.tells("talk", lost, nil)
		expect(t, "left", l.left(t, in), instancerules.Left{Last: told, Vanished: true})
		expect(t, "hosts", len(l.asked), 0)
	})
}

// A run that joins replaces an earlier one with its workflow ID. One that left is not told.
func TestInstance_KnowsTheRunsThatUseIt(t *testing.T) {
	l := newLab(serves)
	other := instancerules.User{WorkflowID: "plan", Ticket: "2"}
	again := instancerules.User{WorkflowID: "talk", Ticket: "3"}
	for n, send := range []func(){
		func() { l.SignalWorkflow(api.JoinInstanceSignal, other) },
		func() { l.SignalWorkflow(api.JoinInstanceSignal, again) },
		func() { l.SignalWorkflow(api.LeaveInstanceSignal, other) },
		l.CancelWorkflow,
	} {
		l.RegisterDelayedCallback(send, time.Duration(n+1)*time.Minute)
	}
	l.tells("talk", instancerules.Ended{Ticket: "3", Instance: "counter"}, nil)
	l.left(t, input(api.OnLossRecreate, talk))
}

// A run that was terminated cannot leave, so its entry is dropped when there are too many. Those
// that still are too many are told that they cannot use the instance.
func TestInstance_DropsRunsThatHaveEnded(t *testing.T) {
	users := make([]instancerules.User, 502)
	for n := range users {
		users[n] = instancerules.User{WorkflowID: fmt.Sprint("run-", n), Ticket: fmt.Sprint(n)}
	}
	full := failures.NotJoined(0, "counter", "500 runs use it; call it again when one of them has ended")
	for name, test := range map[string]struct {
		ended    map[string]bool
		searches int
		refused  []int
	}{
		"two":  {map[string]bool{"run-0": true, "run-7": true}, 1, nil},
		"none": {nil, 2, []int{500, 501}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(serves)
			l.ended = test.ended
			for n, user := range users[500:] {
				l.RegisterDelayedCallback(func() {
					l.SignalWorkflow(api.JoinInstanceSignal, user)
				}, time.Duration(n+1)*time.Minute)
			}
			l.RegisterDelayedCallback(func() { l.SetContinueAsNewSuggested(true) }, time.Hour)
			l.RegisterDelayedCallback(func() { l.SignalWorkflow(api.LeaveInstanceSignal, talk) },
				2*time.Hour)
			for _, n := range test.refused {
				l.tells(users[n].WorkflowID, instancerules.Ended{Ticket: users[n].Ticket,
					Instance: "counter", Error: full}, nil)
			}
			in := l.next(t, input(api.OnLossFail, users[:500]...))
			l.AssertExpectations(t)
			want := slices.DeleteFunc(slices.Clone(users), func(u instancerules.User) bool {
				n := slices.Index(users, u)
				return test.ended[u.WorkflowID] || slices.Contains(test.refused, n)
			})
			expect(t, "users", in.Users, want)
			expect(t, "searches", l.searches, test.searches)
		})
	}
}

// A workflow whose runs were terminated ends, as one without runs.
func TestInstance_EndsIfNoWorkerHostsItAndItsRunsWereTerminated(t *testing.T) {
	l := newLab(ends(api.InstanceProgress{},
		temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)))
	l.ended = map[string]bool{"talk": true}
	l.left(t, input(api.OnLossFail, talk))
	expect(t, "hosts", len(l.asked), 1)
}

// An instance that could not be created is none, and is created again for the next run.
func TestInstance_TellsWhyItWasNotCreated(t *testing.T) {
	fault := api.Error{Type: api.ErrExecution, Message: "no disk"}
	l := newLab(ends(used, temporal.NewApplicationErrorWithOptions(fault.Message,
		string(fault.Type), temporal.ApplicationErrorOptions{NonRetryable: true,
			Details: []any{fault, api.InstanceProgress{Generation: 1}}})))
	l.tells("talk", instancerules.Ended{Ticket: "1", Instance: "counter",
		Last: api.InstanceProgress{Generation: 1}, Error: &fault}, nil)
	expect(t, "left", l.left(t, input(api.OnLossFail, talk)),
		instancerules.Left{Last: api.InstanceProgress{Generation: 1}})
}

// Its next result says who closed it. A closed instance cannot be closed again.
func TestInstance_IsClosedByAPerson(t *testing.T) {
	l := newLab(serves)
	request := api.CloseInstance{Instance: "counter", By: "ada", Reason: "it hangs"}
	var refused error
	l.RegisterDelayedCallback(func() {
		for _, id := range []string{"first", "second"} {
			l.UpdateWorkflow(api.CloseInstanceUpdate, id, &testsuite.TestUpdateCallback{
				OnAccept: func() {}, OnReject: func(err error) { refused = err },
				OnComplete: func(any, error) {}}, request)
		}
	}, time.Minute)
	l.RegisterDelayedCallback(l.CancelWorkflow, time.Hour)
	left := l.left(t, input(api.OnLossFail))
	const why = "the last one was closed by ada: it hangs"
	expect(t, "told to close", l.closed, []instancerules.CloseRequest{{OnDemand: true, Why: why}})
	expect(t, "left", left, instancerules.Left{Last: api.InstanceProgress{Ended: why, Closed: true}})
	if refused == nil {
		t.Error("the second request was accepted")
	}
}

// The next execution adopts the living instance and knows where its state is.
func TestInstance_GoesOnAfterContinueAsNew(t *testing.T) {
	l := newLab(serves)
	l.RegisterDelayedCallback(func() { l.SignalWorkflow(api.JoinInstanceSignal, talk) },
		time.Minute)
	l.RegisterDelayedCallback(func() { l.SetContinueAsNewSuggested(true) }, 2*time.Minute)
	in := l.next(t, input(api.OnLossRecreate))
	expect(t, "users", in.Users, []instancerules.User{talk})
	if before := in.Host.Before; !in.Host.Adopt || len(before) != 1 ||
		before[0].ActivityID != "host_instance/counter" {
		t.Errorf("continued with %+v", in.Host)
	}
	again := newLab(ends(used, nil))
	again.tells("talk", instancerules.Ended{Ticket: "1", Instance: "counter", Last: told}, nil)
	again.left(t, in)
	if r := again.asked[0]; !r.Adopt || r.Before != nil {
		t.Errorf("asked for %+v", r)
	}
}

// A workflow without runs ends, and keeps where the state of the last instance is.
func TestInstance_EndsIfNoWorkerHostsItAndNoRunNeedsIt(t *testing.T) {
	before := []api.InstanceHost{{RunID: "old", ActivityID: "host_instance/counter"}}
	for name, fault := range map[string]error{
		"never started": temporal.NewHeartbeatTimeoutError(),
		"no worker":     temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(ends(api.InstanceProgress{}, fault), ends(used, nil))
			in := input(api.OnLossFail)
			in.Host.Before = before
			expect(t, "left", l.left(t, in), instancerules.Left{Before: before})
			l = newLab(ends(api.InstanceProgress{}, fault), ends(used, nil))
			l.tells("talk", instancerules.Ended{Ticket: "1", Instance: "counter", Last: told}, nil)
			l.left(t, input(api.OnLossFail, talk))
			expect(t, "hosts", len(l.asked), 2)
		})
	}
}

// The worker of a terminated workflow can have the instance until then.
func TestInstance_IsNotHostedBeforeTheLastLeaseExpired(t *testing.T) {
	var started time.Time
	var l *lab
	l = newLab(func(context.Context) (api.InstanceProgress, error) {
		started = l.Now()
		return used, nil
	})
	in := input(api.OnLossRecreate)
	in.NotBefore = l.Now().Add(time.Hour)
	l.left(t, in)
	if started.Before(in.NotBefore) {
		t.Errorf("hosted at %s, want not before %s", started, in.NotBefore)
	}
}
