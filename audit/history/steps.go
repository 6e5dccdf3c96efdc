package history

import (
	"encoding/json"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/failures"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// steps are the model steps of a run.
type steps struct {
	run *run
	// failures are the model steps that failed since the last one that completed.
	failures []api.StepFailure
}

// inline reads a model step that ran within a workflow task.
func (s *steps) inline(l local) error {
	a := s.run.activities.takeInline(l.id)
	if a == nil {
		s.run.approvals.limitOver(l.event, api.DecisionTimeout)
		s.run.admission.abandon(l.event, "the run reached a limit before this call ran")
		if turn := api.StepTurn(l.id); turn > 0 {
			s.run.turn = turn
		}
		a = &activity{id: l.id, kind: s}
		a.record.Lane, a.record.Scheduled = api.LaneInline, s.run.markers.clock
		a.record.Started = s.run.markers.clock
	}
	s.run.markers.setAttempts(a, l)
	if l.failure != nil && l.again {
		s.run.activities.retry(a, l)
		return nil
	}
	a.record.Closed = pb.Time(l.event.GetEventTime())
	a.record.Duration = pb.Between(a.record.Started, a.record.Closed)
	if l.failure != nil {
		s.fail(a, activityFailure(l.failure))
		return nil
	}
	var response api.ModelResponse
	if err := s.run.decodeEvent(l.event, "model response", l.result, &response); err != nil {
		return err
	}
	decisions := response.Decisions
	response.Decisions = nil // the records of the calls have them
	s.complete(l.event, a, response)
	s.run.admission.readDecisions(l.event, decisions)
	return nil
}

// readScheduled reads the start of a model step. Calls of the step before that are still wanted
// were not made.
func (s *steps) readScheduled(e *historypb.HistoryEvent, a *activity) (*activity, error) {
	var request api.ModelRequest
	input := e.GetActivityTaskScheduledEventAttributes().GetInput()
	if err := s.run.decodeEvent(e, "model request", input, &request); err != nil {
		return nil, err
	}
	s.run.approvals.limitOver(e, api.DecisionTimeout)
	s.run.admission.abandon(e, "the run reached a limit before this call ran")
	s.run.turn = request.Turn
	return a, nil
}

func (s *steps) readCompleted(e *historypb.HistoryEvent, a *activity,
	result *commonpb.Payloads) error {
	var response api.ModelResponse
	if err := s.run.decodeEvent(e, "model response", result, &response); err != nil {
		return err
	}
	s.complete(e, a, response)
	return nil
}

func (s *steps) readFailed(_ *historypb.HistoryEvent, a *activity, f failures.ActivityFailure) {
	s.fail(a, f)
}

// complete emits a model step. The calls that it asks for are wanted from here on.
func (s *steps) complete(e *historypb.HistoryEvent, a *activity, response api.ModelResponse) {
	s.run.summary.Usage.AddStep(response.Usage)
	if a.id != api.SummaryStepID {
		s.run.admission.wanted.add(response.Message.Calls...)
	}
	// The native form has what the masks hide, and only the provider can read the rest of it.
	response.Message.Native = nil
	response.Message.Calls = slices.Clone(response.Message.Calls)
	for i, c := range response.Message.Calls {
		if len(s.run.tools[c.Tool].Sensitive) > 0 {
			shown := s.run.shown(c.Tool, json.RawMessage(c.Arguments))
			response.Message.Calls[i].Arguments = string(shown)
		}
	}
	s.run.emit(e, api.Event{
		Type:         api.EventStepCompleted,
		Turn:         s.run.turn,
		Step:         &response,
		Timing:       &a.record.Timing,
		StepFailures: s.takeFailures(),
	})
}

// fail keeps a model step that failed for good, for the next step or the end of the run.
func (s *steps) fail(a *activity, f failures.ActivityFailure) {
	kind := f.Type
	if f.Timeout != "" {
		kind = string(api.ErrTimeout)
	}
	if !f.Cancelled {
		s.failures = append(s.failures,
			api.StepFailure{Turn: s.run.turn, Type: kind, Timing: a.record.Timing})
	}
}

func (s *steps) takeFailures() []api.StepFailure {
	failures := s.failures
	s.failures = nil
	return failures
}
