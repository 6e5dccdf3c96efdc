package ledgers_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/activities/ledgers"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
)

// server answers updates and signals of ledgers after it refused some.
type server struct {
	client.Client
	refusals []error
	// updates are the IDs of the updates, signals the workflow IDs of the signals it was sent.
	updates, signals []string
	full             string
	// usage answers queries.
	usage []api.PeriodUsage
	// told is what ledgers were told of model steps.
	told     []api.StepUsage
	onUpdate func()
}

var errUnavailable = serviceerror.NewUnavailable("the server restarts")

func (s *server) next() error {
	if len(s.refusals) == 0 {
		return nil
	}
	err := s.refusals[0]
	s.refusals = s.refusals[1:]
	return err
}

func (s *server) NewWithStartWorkflowOperation(client.StartWorkflowOptions, any,
	...any) client.WithStartWorkflowOperation {
	return nil
}

func (s *server) UpdateWithStartWorkflow(_ context.Context,
	o client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	s.updates = append(s.updates, o.UpdateOptions.UpdateID)
	if s.onUpdate != nil {
		s.onUpdate()
	}
	if err := s.next(); err != nil {
		return nil, err
	}
	return handle{full: s.full}, nil
}

func (s *server) SignalWorkflow(_ context.Context, id, _, _ string, _ any) error {
	s.signals = append(s.signals, id)
	return s.next()
}

type handle struct {
	client.WorkflowUpdateHandle
	full string
}

func (h handle) Get(_ context.Context, value any) error {
	value.(*api.LedgerAnswer).Full = h.full
	return nil
}

// An attempt whose answer was lost has the ID of the first one, so the call is entered once.
func TestReserve_RepeatsTheSameRequestUntilItIsAnswered(t *testing.T) {
	s := &server{refusals: []error{errUnavailable, errUnavailable}, full: "10,000 calls"}
	answer, err := ledgers.New(s).Reserve(t.Context(), ledgers.Ledger{Scope: "principal"},
		api.LedgerRequest{Holder: "run/1.1"})
	if err != nil || answer.Full != "10,000 calls" {
		t.Errorf("the answer is %+v, %v", answer, err)
	}
	want := []string{"run/1.1/principal", "run/1.1/principal", "run/1.1/principal"}
	if !slices.Equal(s.updates, want) {
		t.Errorf("updates %q, want %q", s.updates, want)
	}
}

func TestReserve_ReturnsTheLastErrorWhenItsTimeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{refusals: []error{errUnavailable}, onUpdate: cancel}
	_, err := ledgers.New(s).Reserve(ctx, ledgers.Ledger{}, api.LedgerRequest{})
	if !errors.Is(err, errUnavailable) || len(s.updates) != 1 {
		t.Errorf("%v after %d updates", err, len(s.updates))
	}
}

// A ledger that has ended has nothing to be told. One that cannot be reached does not keep the
// others from being told, and the activity is repeated.
func TestClose_TellsAllLedgers(t *testing.T) {
	ends := api.ReservationEnds{}
	for _, id := range []string{"ended", "unreachable", "open"} {
		ends.Ledgers = append(ends.Ledgers, api.LedgerCalls{WorkflowID: id})
	}
	for name, c := range map[string]struct {
		refusals []error
		fails    bool
	}{
		"a ledger has ended":          {[]error{serviceerror.NewNotFound("ended")}, false},
		"a ledger cannot be reached":  {[]error{serviceerror.NewNotFound("ended"), errUnavailable}, true},
		"all ledgers take the signal": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{refusals: c.refusals}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			closing := ledgers.New(s).Close
			env.RegisterActivity(closing)
			_, err := env.ExecuteActivity(closing, ends)
			if (err != nil) != c.fails {
				t.Errorf("the activity ends with %v", err)
			}
			if want := []string{"ended", "unreachable", "open"}; !slices.Equal(s.signals, want) {
				t.Errorf("signals to %q, want %q", s.signals, want)
			}
		})
	}
}
