package turn

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// labelLab makes calls of a run and shows its labels.
type labelLab struct {
	t *testing.T
	Facts
}

func (l *labelLab) admit(ids ...string) {
	for _, id := range ids {
		l.RecordAdmissions([]api.Call{{Tool: "t"}}, []api.AdmissionDecision{{ID: id}}, 1, time.Time{})
	}
}

func (l *labelLab) end(id string, emits []string, cleared ...api.Clearing) {
	l.RecordOutcome(api.CallOutcome{ID: id, Result: &api.Result{Cleared: cleared}},
		api.Tool{Emits: emits})
}

func (l *labelLab) want(labels string) {
	l.t.Helper()
	if got := strings.Join(l.Labels, " "); got != labels {
		l.t.Errorf("labels are %q, want %q", got, labels)
	}
}

var clears = api.Clearing{Label: "a"}

// Outside a turn, a call clears at once what the run had at its admission.
func TestLabels_AreClearedByCalls(t *testing.T) {
	l := &labelLab{t, NewFacts(&api.RunInput{Labels: []string{"a", "b"}})}
	l.admit("1", "2")
	l.end("1", nil, clears, api.Clearing{Label: "b", To: "c"}, api.Clearing{Label: "x", To: "y"})
	l.want("c")
	l.end("1", []string{"a"}, clears) // of a call that has ended
	l.want("a c")
	l.end("2", nil, clears)
	l.want("a c") // emitted after the admission of 2
	l.admit("3")
	l.Clear("3", []api.Clearing{clears})
	l.want("c")
	l.Clear("unknown", []api.Clearing{{Label: "c"}})
	l.want("c")
}

// The calls of a turn do not see what others of the turn clear, and what they emit stays.
func TestLabels_AreClearedAtTheEndOfATurn(t *testing.T) {
	l := &labelLab{t, NewFacts(&api.RunInput{Labels: []string{"a", "b"}})}
	l.admit("1", "2", "3")
	l.BeginTurn()
	l.end("1", nil, clears, api.Clearing{Label: "b"})
	l.want("a b")
	l.end("2", []string{"a"})
	l.end("3", nil)
	l.endTurn()
	l.want("a")
	l.admit("4")
	l.BeginTurn()
	l.end("4", []string{"a"}, clears)
	l.endTurn()
	l.want("a")
	l.admit("5")
	l.BeginTurn()
	l.RecordOutcome(api.CallOutcome{ID: "5", Error: &api.Error{Type: api.ErrExecution}},
		api.Tool{Emits: []string{"d"}})
	l.endTurn()
	l.want("a d")
}

// A batch emits what one of its parts emits.
func TestLabels_OfBatches(t *testing.T) {
	part := func(labels ...string) api.CallOutcome {
		return api.CallOutcome{Result: &api.Result{NotEmitted: labels}}
	}
	l := &labelLab{t, NewFacts(&api.RunInput{})}
	l.admit("1")
	l.RecordOutcome(api.CallOutcome{ID: "1", Result: &api.Result{Parts: []api.CallOutcome{part("a", "b"),
		part("b")}}}, api.Tool{Emits: []string{"a", "b", "c"}})
	l.want("a c")
	l.admit("2")
	l.RecordOutcome(api.CallOutcome{ID: "2", Result: &api.Result{Parts: []api.CallOutcome{part("b"),
		{Error: &api.Error{}}}}}, api.Tool{Emits: []string{"b"}})
	l.want("a b c")
}
