package audit

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
)

// A person's evaluation precedes a checker's, which precedes the end of the run. A run that has not
// ended has no evaluation.
func TestEvaluation_PrefersPeopleToCheckers(t *testing.T) {
	over, yes := time.Unix(1, 0), &api.RunEvaluation{Solved: true, By: "ada"}
	checked := func(c api.Checked) *api.RunResult {
		return &api.RunResult{Outcome: api.OutcomeAnswered, Checked: &c}
	}
	for _, test := range []struct {
		s      history.Summary
		person *api.RunEvaluation
		want   Solved
		by     EvaluatedBy
		text   string
	}{
		{history.Summary{Status: history.RunFailed, Closed: over}, yes, SolvedYes,
			EvaluatedByPerson, "solved, evaluated by ada"},
		{history.Summary{Status: history.RunFailed, Closed: over}, &api.RunEvaluation{By: "ada",
			Reason: "no"}, SolvedNo, EvaluatedByPerson, "failed, evaluated by ada: no"},
		{history.Summary{Status: history.RunCompleted, Closed: over,
			Result: checked(api.Checked{})}, yes, SolvedYes, EvaluatedByPerson, "solved, evaluated by ada"},
		{history.Summary{Status: history.RunCompleted, Closed: over,
			Result: checked(api.Checked{Tool: "grade", Reason: "wrong"})}, nil, SolvedNo,
			EvaluatedByChecker, "failed, evaluated by the checker grade: wrong"},
		{history.Summary{Status: history.RunCompleted, Closed: over,
			Result: checked(api.Checked{Tool: "grade", Problem: "it broke"})}, nil, SolvedYes,
			EvaluatedByEnd, "solved (from its outcome); the checker grade gave no evaluation: it broke"},
		{history.Summary{Status: history.RunTerminated, Closed: over}, nil, SolvedNo,
			EvaluatedByEnd, "failed (from its outcome)"},
		{history.Summary{Status: history.RunRunning}, yes, SolvedOpen, EvaluatedByEnd, ""},
	} {
		if got := EvaluationText(Evaluation(test.s, test.person)); got != test.text {
			t.Errorf("%+v: %q, want %q", test.s, got, test.text)
		}
		if got, by := Evaluate(test.s, test.person); got != test.want || by != test.by {
			t.Errorf("%+v is %s by %s, want %s by %s", test.s, got, by, test.want, test.by)
		}
	}
}

// Only a run that reached its goal is solved by its own end.
func TestEvaluate_CountsOnlySuccessfulEnds(t *testing.T) {
	over := time.Unix(1, 0)
	for want, list := range map[Solved][]history.Summary{
		SolvedOpen: {{Status: history.RunRunning}, {Status: history.RunPaused}},
		SolvedYes: {{Status: history.RunCompleted, Closed: over,
			Result: &api.RunResult{Outcome: api.OutcomeAnswered}},
			{Status: history.RunCompleted, Closed: over,
				Result: &api.RunResult{Outcome: api.OutcomeCompleted}}},
		SolvedNo: {{Status: history.RunCompleted, Closed: over,
			Result: &api.RunResult{Outcome: api.OutcomeLimit}},
			{Status: history.RunCompleted, Closed: over},
			{Status: history.RunFailed, Closed: over,
				Result: &api.RunResult{}},
			{Status: history.RunCancelled, Closed: over},
			{Status: history.RunTerminated, Closed: over}},
	} {
		for _, s := range list {
			if got, _ := Evaluate(s, nil); got != want {
				t.Errorf("%+v is %s, want %s", s, got, want)
			}
		}
	}
}
