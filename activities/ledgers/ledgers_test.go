package ledgers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/switchyard/switchyard/activities/ledgers"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
)

// server answers updates and signals of ledgers after it refused some.
type server struct {
	client.Client
	mu       sync.Mutex
	refusals []error
	// updates are the IDs of the updates with their calls, signals the workflow IDs of the signals
	// it was sent.
	updates, signals []string
	full             string
	// atOnce is how many requests one update answers; zero for all.
	atOnce int
	// usage answers queries.
	usage []ledgerrules.PeriodUsage
	// told is what ledgers were told.
	told     []ledgerrules.News
	onUpdate func()
}

var errUnavailable = serviceerror.NewUnavailable("the server restarts")

// next returns the refusal of a request.
func (s *server) next() error {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	requests, _ := o.UpdateOptions.Args[0].([]ledgerrules.Request)
	var calls []string
	for _, r := range requests {
		calls = append(calls, r.Call)
	}
	s.mu.Lock()
	s.updates = append(s.updates, o.UpdateOptions.UpdateID+" "+strings.Join(calls, ","))
	s.mu.Unlock()
	if s.onUpdate != nil {
		s.onUpdate()
	}
	if err := s.next(); err != nil {
		return nil, err
	}
	if s.atOnce > 0 {
		calls = calls[:min(len(calls), s.atOnce)]
	}
	return handle{calls: calls, full: s.full}, nil
}

func (s *server) SignalWorkflow(_ context.Context, id, _, _ string, told any) error {
	return s.tell(id, told)
}

func (s *server) tell(id string, told any) error {
	err := s.next()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signals = append(s.signals, id)
	news, ok := told.(ledgerrules.News)
	if !ok {
		return errors.New("the signal has another type")
	}
	if err == nil {
		s.told = append(s.told, news)
	}
	return err
}

type handle struct {
	client.WorkflowUpdateHandle
	calls []string
	full  string
}

func (h handle) Get(_ context.Context, value any) error {
	answers, _ := value.(*[]ledgerrules.Answer)
	for _, call := range h.calls {
		*answers = append(*answers, ledgerrules.Answer{Full: call + h.full})
	}
	return nil
}

var ada = ledgers.Ledger{ID: "ada", Scope: "principal"}

// An attempt whose answer was lost is repeated as it was, so the ledger answers it once.
func TestReserve_RepeatsTheSameRequestUntilItIsAnswered(t *testing.T) {
	s := &server{refusals: []error{errUnavailable, errUnavailable}, full: " is one too many"}
	answers, err := ledgers.New(s).Reserve(t.Context(), ada, ledgerrules.Request{Call: "1.1"},
		ledgerrules.Request{Call: "1.2"})
	if err != nil || len(answers) != 2 || answers[1].Full != "1.2 is one too many" {
		t.Errorf("the answers are %+v, %v", answers, err)
	}
	if len(s.updates) != 3 || s.updates[0] != s.updates[2] ||
		!strings.HasSuffix(s.updates[0], " 1.1,1.2") {
		t.Errorf("updates %q", s.updates)
	}
}

// However many calls ask at once, a ledger has one request of a process at a time. It answers them
// in their order, those that one answer leaves out first.
func TestReserve_AsksOnceForAllThatWait(t *testing.T) {
	const calls = 400
	var underWay, most atomic.Int32
	waiting := make(chan struct{})
	s := &server{atOnce: 150}
	s.onUpdate = func() {
		most.Store(max(most.Load(), underWay.Add(1)))
		<-waiting
		underWay.Add(-1)
	}
	c := ledgers.New(s)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			call := fmt.Sprint(i)
			answers, err := c.Reserve(t.Context(), ada, ledgerrules.Request{Call: call})
			if err != nil || len(answers) != 1 || answers[0].Full != call {
				t.Errorf("call %s: %+v, %v", call, answers, err)
			}
		})
	}
	close(waiting)
	all.Wait()
	asked := map[string]bool{}
	for _, update := range s.updates {
		_, list, _ := strings.Cut(update, " ")
		for _, call := range strings.Split(list, ",") {
			asked[call] = true
		}
	}
	if most.Load() != 1 || len(asked) != calls {
		t.Errorf("%d requests at a time, about %d calls", most.Load(), len(asked))
	}
}

// Calls whose callers have stopped waiting are not sent.
func TestReserve_LeavesOutCallsWithoutACaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	under, goOn := make(chan struct{}), make(chan struct{})
	s := &server{onUpdate: sync.OnceFunc(func() {
		close(under)
		<-goOn
	})}
	c := ledgers.New(s)
	var all sync.WaitGroup
	reserve := func(ctx context.Context, call string) {
		if _, err := c.Reserve(ctx, ada, ledgerrules.Request{Call: call}); (err != nil) !=
			(call == "gives up") {
			t.Errorf("%s: %v", call, err)
		}
	}
	all.Go(func() { reserve(t.Context(), "first") })
	<-under
	cancel()
	reserve(ctx, "gives up")
	close(goOn)
	all.Wait()
	reserve(t.Context(), "last")
	if len(s.updates) != 2 || !strings.HasSuffix(s.updates[1], " last") {
		t.Errorf("updates %q", s.updates)
	}
}

func TestReserve_ReturnsTheLastErrorWhenItsTimeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{refusals: []error{errUnavailable, errUnavailable}}
	s.onUpdate = func() {
		if len(s.updates) == 2 {
			cancel()
		}
	}
	_, err := ledgers.New(s).Reserve(ctx, ada, ledgerrules.Request{})
	if !errors.Is(err, errUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v after %d updates", err, len(s.updates))
	}
}

// A ledger that has ended gets no report. One that cannot be reached does not delay those to the
// others, and gets its report later.
func TestClose_TellsAllLedgers(t *testing.T) {
	ends := ledgerrules.Ends{}
	for _, id := range []string{"one", "other"} {
		ends.Ledgers = append(ends.Ledgers, ledgerrules.Calls{WorkflowID: id,
			Calls: []ledgerrules.End{{Call: "1.1", Holder: id}}})
	}
	for name, c := range map[string]struct {
		refusals []error
		told     int
	}{
		"a ledger has ended":               {[]error{serviceerror.NewNotFound("ended")}, 1},
		"a ledger is unreachable at first": {[]error{errUnavailable}, 2},
		"all ledgers take the signal":      {nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{refusals: c.refusals}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			closing := ledgers.New(s).Close
			env.RegisterActivity(closing)
			if _, err := env.ExecuteActivity(closing, ends); err != nil {
				t.Errorf("the activity ends with %v", err)
			}
			if len(s.told) != c.told {
				t.Errorf("signals to %q told %+v", s.signals, s.told)
			}
		})
	}
}

// The activity is repeated if a ledger cannot be told.
func TestClose_FailsIfALedgerCannotBeTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &server{refusals: slices.Repeat([]error{errUnavailable}, 100)}
	err := ledgers.New(s).Close(ctx, ledgerrules.Ends{Ledgers: []ledgerrules.Calls{{WorkflowID: "a"}}})
	if err == nil {
		t.Error("the ledger was told")
	}
}
