package ledgers_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/ledgers"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

func (s *server) QueryWorkflow(_ context.Context, id, _, _ string,
	_ ...any) (converter.EncodedValue, error) {
	s.signals = append(s.signals, id)
	return usage(s.usage), s.next()
}

func (s *server) SignalWithStartWorkflow(_ context.Context, id, _ string, told any,
	_ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	return nil, s.tell(id, told)
}

// usage is the answer to a query.
type usage []ledgerrules.PeriodUsage

func (u usage) HasValue() bool { return true }
func (u usage) Get(value any) error {
	used, ok := value.(*ledgerrules.PrincipalUsage)
	if !ok {
		return errors.New("the answer has another type")
	}
	used.Periods = u
	return nil
}

var (
	run = &api.Setup{Queue: "q", Caller: api.Caller{Type: api.CallerAgent, ID: "clerk",
		Principal: "ada"}}
	daily = ledgerrules.Budget{Name: "daily", Period: ledgerrules.Day, Tokens: 100}
)

func today(tokens int) []ledgerrules.PeriodUsage {
	start, _ := ledgerrules.PeriodBounds(ledgerrules.Day, time.Now())
	return []ledgerrules.PeriodUsage{{Period: ledgerrules.Day, Start: start, Tokens: tokens}}
}

func TestBudgets_AreExhaustedAtTheirLimit(t *testing.T) {
	monthly := ledgerrules.Budget{Name: "monthly", Period: ledgerrules.Month, Cost: 3}
	for _, test := range []struct {
		name    string
		used    []ledgerrules.PeriodUsage
		refusal error
		want    string
	}{
		{"below", today(99), nil, ""},
		{"at the limit", today(100), nil, "The budget daily of ada is used up: 100 of 100 tokens " +
			"in this day. The next one begins at "},
		{"no ledger", nil, serviceerror.NewNotFound("none"), ""},
	} {
		s := &server{usage: test.used}
		if test.refusal != nil {
			s.refusals = []error{test.refusal}
		}
		b := ledgers.New(s).SelectBudgets(run, []ledgerrules.Budget{monthly, daily})
		got, err := b.DescribeExhausted(t.Context())
		if err != nil || !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}

// A step is not made while nobody can tell whether it may be made.
func TestBudgets_FailIfTheirLedgerDoesNotAnswer(t *testing.T) {
	s := &server{refusals: []error{errUnavailable}}
	_, err := ledgers.New(s).SelectBudgets(run,
		[]ledgerrules.Budget{daily}).DescribeExhausted(t.Context())
	if !errors.Is(err, errUnavailable) {
		t.Errorf("got %v", err)
	}
}

// Usage is counted once, in each period of a budget, however often the server has to be asked, and
// also if the step's context has ended.
func TestBudgets_CountUsage(t *testing.T) {
	s := &server{refusals: []error{errUnavailable, errUnavailable}}
	hourly := ledgerrules.Budget{Name: "hourly", Period: ledgerrules.Hour, Cost: 3}
	weekly := ledgerrules.Budget{Name: "weekly", Period: ledgerrules.Week, Cost: 3,
		Principals: []string{"bob"}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ledgers.New(s).SelectBudgets(run, []ledgerrules.Budget{hourly, daily, daily, weekly}).Count(ctx,
		api.Usage{InputTokens: 7, OutputTokens: 5, CachedTokens: 3, Cost: 0.5})
	if len(s.told) != 1 || s.told[0].ID == "" {
		t.Fatalf("told %+v", s.told)
	}
	want := []ledgerrules.StepUsage{{Periods: []ledgerrules.Period{ledgerrules.Day,
		ledgerrules.Hour}, Tokens: 12,
		Cost: 0.5}}
	if !reflect.DeepEqual(s.told[0].Used, want) || len(s.signals) != 3 {
		t.Errorf("told %+v in %d attempts, want %+v", s.told, len(s.signals), want)
	}
}

// Nobody is asked or told about principals without a budget.
func TestBudgets_CostNothingWithoutOne(t *testing.T) {
	s := &server{}
	other := daily
	other.Except = []string{"ada"}
	b := ledgers.New(s).SelectBudgets(run, []ledgerrules.Budget{other})
	got, err := b.DescribeExhausted(t.Context())
	b.Count(t.Context(), api.Usage{InputTokens: 7})
	if got != "" || err != nil || len(s.signals) != 0 {
		t.Errorf("got %q, %v after %d requests", got, err, len(s.signals))
	}
}
