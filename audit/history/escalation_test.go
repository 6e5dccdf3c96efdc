package history

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// An approval that stays open after its time is escalated once, with its deadline. Approvals that
// end then, cancelled timers and other timers are no escalation. An edit that is being validated is
// awaited.
func TestEscalation_IsReportedOnce(t *testing.T) {
	asked := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		summary   string
		onTimeout api.ApprovalTimeout
		end       enumspb.EventType
		again     bool
		edit      string
		want      int
	}{
		"escalates": {summary: "approval of 1.1", onTimeout: api.ApprovalEscalates,
			end: enumspb.EVENT_TYPE_TIMER_FIRED, want: 1},
		"once": {summary: "approval of 1.1", onTimeout: api.ApprovalEscalates,
			end: enumspb.EVENT_TYPE_TIMER_FIRED, again: true, want: 1},
		"denies": {summary: "approval of 1.1", onTimeout: api.ApprovalDenies,
			end: enumspb.EVENT_TYPE_TIMER_FIRED},
		"cancelled": {summary: "approval of 1.1", onTimeout: api.ApprovalEscalates,
			end: enumspb.EVENT_TYPE_TIMER_CANCELED},
		"another timer": {summary: "timeout of call 1.1", onTimeout: api.ApprovalEscalates,
			end: enumspb.EVENT_TYPE_TIMER_FIRED},
		"another call": {summary: "approval of 1.2", onTimeout: api.ApprovalEscalates,
			end: enumspb.EVENT_TYPE_TIMER_FIRED},
		"no summary": {onTimeout: api.ApprovalEscalates, end: enumspb.EVENT_TYPE_TIMER_FIRED},
		"edit refused": {summary: "approval of 1.1", onTimeout: api.ApprovalEscalates,
			end: enumspb.EVENT_TYPE_TIMER_FIRED, edit: "no", want: 1},
		"edit counts": {summary: "approval of 1.1", onTimeout: api.ApprovalEscalates,
			end: enumspb.EVENT_TYPE_TIMER_FIRED, edit: "", want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDeriver("w", "r")
			r := d.run
			r.open, r.summary.Parts = true, []Part{{}}
			at := &historypb.HistoryEvent{EventTime: timestamppb.New(asked)}
			r.approvals.request(at, &wantedCall{Call: api.Call{ID: "1.1", Tool: "pay"}},
				api.ApprovalNeed{Within: api.Duration(time.Hour), OnTimeout: c.onTimeout})
			given := d.Summary()
			if name == "edit refused" || name == "edit counts" {
				r.approvals.decisionCame(
					"u",
					api.Decision{Call: "1.1", Kind: api.DecisionEdit, By: "ada"},
				)
			}
			r.out = nil
			var events []api.Event
			for range 1 + map[bool]int{true: 1}[c.again] {
				events = append(events, timed(t, d, c.summary, c.end, asked.Add(time.Hour))...)
			}
			if name == "edit refused" || name == "edit counts" {
				if len(events) != 0 {
					t.Errorf("reported before the edit ended: %+v", events)
				}
				r.out = nil
				r.approvals.decisionTaken(at, "u", c.edit)
				for _, e := range r.out {
					if e.Type == api.EventApprovalEscalated {
						events = append(events, e)
					}
				}
			}
			if len(events) != c.want {
				t.Fatalf("got %+v", events)
			}
			if c.want == 0 {
				return
			}
			if e := events[0]; e.Type != api.EventApprovalEscalated || e.CallID != "1.1" ||
				e.Tool != "pay" ||
				!e.Approval.Escalated ||
				e.Approval.Until.Sub(e.Time) != time.Hour {
				t.Errorf("event %+v, approval %+v", e, e.Approval)
			}
			if a := d.Summary().Approvals[0]; !a.Escalated || given.Approvals[0].Escalated {
				t.Errorf("the summary has %+v, one before it %+v", a, given.Approvals[0])
			}
			r.approvals.decide(at, "1.1", api.Decided{Decision: api.DecisionApprove})
			if got := r.approvals.decided["1.1"]; got.Escalated.IsZero() {
				t.Errorf("decided: %+v", got)
			}
		})
	}
}

// timed starts and fires a timer with a summary and returns the events of that.
func timed(
	t *testing.T,
	d *Deriver,
	summary string,
	end enumspb.EventType,
	at time.Time,
) []api.Event {
	t.Helper()
	started := &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_TIMER_STARTED,
		Attributes: &historypb.HistoryEvent_TimerStartedEventAttributes{
			TimerStartedEventAttributes: &historypb.TimerStartedEventAttributes{TimerId: "5"},
		}}
	if summary != "" {
		payload, err := pb.DataConverter.ToPayload(summary)
		if err != nil {
			t.Fatal(err)
		}
		started.UserMetadata = &sdkpb.UserMetadata{
			Summary: &commonpb.Payload{Metadata: payload.GetMetadata(), Data: payload.GetData()},
		}
	}
	ended := &historypb.HistoryEvent{EventType: end, EventTime: timestamppb.New(at)}
	if end == enumspb.EVENT_TYPE_TIMER_FIRED {
		ended.Attributes = &historypb.HistoryEvent_TimerFiredEventAttributes{
			TimerFiredEventAttributes: &historypb.TimerFiredEventAttributes{TimerId: "5"},
		}
	} else {
		ended.Attributes = &historypb.HistoryEvent_TimerCanceledEventAttributes{TimerCanceledEventAttributes: &historypb.TimerCanceledEventAttributes{TimerId: "5"}}
	}
	var events []api.Event
	for _, e := range []*historypb.HistoryEvent{started, ended} {
		more, err := d.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, more...)
	}
	if len(d.run.approvals.timers) != 0 {
		t.Errorf("timers that are over: %v", d.run.approvals.timers)
	}
	return events
}
