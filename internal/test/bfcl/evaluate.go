package bfcl

import (
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// ended is a run that ended, with its records by call id.
type ended struct {
	calls  map[string]api.Record
	result api.RunResult
	err    error
}

// evaluate compares a run with the recorded case and with what the servers executed.
func (e ended) evaluate(c Case, entries []Entry) Evaluation {
	v := Evaluation{Case: c.ID, Outcome: Right}
	executed, unfit := countExecutions(c.ID, entries)
	if unfit != "" {
		return v.wrong("a server executed %s in another state", unfit)
	}
	for t, turn := range buildTurns(c) {
		for i, call := range turn {
			id := formatPlace(t, i)
			v = e.evaluateCall(v, id, call, executed[call.name])
			if v.Outcome == Wrong {
				return v
			}
		}
	}
	return e.evaluateRun(v)
}

// evaluateRun compares the result of the run with the evaluation of its calls.
func (e ended) evaluateRun(v Evaluation) Evaluation {
	if v.Outcome == Reported && e.err == nil && e.result.Usage.Failed == 0 {
		return v.wrong("the result of the run counts no failed call")
	}
	if v.Outcome == Right && e.err != nil {
		v.Outcome, v.Why = Reported, e.err.Error()
	}
	return v
}

// evaluateCall compares one call, which the servers executed n times.
func (e ended) evaluateCall(v Evaluation, id string, want place, n int) Evaluation {
	r, ok := e.calls[id]
	switch {
	case n > 1:
		return v.wrong("%s %s was executed %d times", id, want.Tool, n)
	case !ok:
		return e.evaluateMissing(v, id, want)
	case r.Status == api.CallCompleted && n == 0:
		return v.wrong("%s %s completed and was not executed", id, want.Tool)
	case r.Status == api.CallCompleted:
		return v.evaluateResult(id, want, r)
	case r.Error == nil:
		return v.wrong("%s %s is %s without an error", id, want.Tool, r.Status)
	case n == 1 && r.Error.Type != api.ErrOutcomeUnknown:
		return v.wrong("%s %s was executed and is reported as %s", id, want.Tool, r.Error.Type)
	}
	return v.withReport("%s %s: %s: %s", id, want.Tool, r.Error.Type, r.Error.Message)
}

// evaluateMissing evaluates a call without a record.
func (e ended) evaluateMissing(v Evaluation, id string, want place) Evaluation {
	if e.err == nil {
		return v.wrong("%s %s has no record", id, want.Tool)
	}
	return v.withReport("%s %s: %v", id, want.Tool, e.err)
}

// evaluateResult compares the result of a completed call. A note can say that a result is of
// another session.
func (v Evaluation) evaluateResult(id string, want place, r api.Record) Evaluation {
	if r.Result == nil {
		return v.wrong("%s %s has no result", id, want.Tool)
	}
	got := jsonvalue.Plain(r.Result.Output)
	switch {
	case sameJSON([]byte(got), want.Result):
		return v
	case len(r.Result.Notes) > 0:
		return v.withReport("%s %s: %v", id, want.Tool, r.Result.Notes)
	}
	return v.wrong("%s %s returned %s, recorded is %s", id, want.Tool, got, want.Result)
}

func (v Evaluation) wrong(format string, args ...any) Evaluation {
	v.Outcome, v.Why = Wrong, fmt.Sprintf(format, args...)
	return v
}

// withReport keeps the first report.
func (v Evaluation) withReport(format string, args ...any) Evaluation {
	if v.Outcome == Right {
		v.Outcome, v.Why = Reported, fmt.Sprintf(format, args...)
	}
	return v
}

// countExecutions returns how often the servers executed each call of a case, and the first call
// that
// did not fit.
func countExecutions(id string, entries []Entry) (counts map[string]int, unfit string) {
	counts = map[string]int{}
	for _, e := range entries {
		if e.Case != id {
			continue
		}
		if e.Place == "" && unfit == "" {
			unfit = e.Tool
		}
		counts[e.Place]++
	}
	return counts, unfit
}
