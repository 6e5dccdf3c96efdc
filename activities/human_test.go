package activities

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
)

func asHuman(s *toolspecs.Spec) {
	s.Entry, s.Execution.Timeout = toolspecs.Entry{Kind: toolspecs.HumanEntry{}}, 0
	s.Output = &toolspecs.Parameter{Type: "object",
		Validation: &toolspecs.Validation{Properties: []toolspecs.Parameter{{Name: "n",
			Type: "integer", Required: true}}}}
}

// humanBench returns a process, a run whose call 1.1 waits for a person, and a request with a
// reply.
func humanBench(t *testing.T) (*bench, *askedRun, api.ReplyRequest) {
	t.Helper()
	b, run, compiled := askingBench(t, nil, asHuman)
	tool := compiled.Tool()
	run.pending = enumspb.PENDING_ACTIVITY_STATE_STARTED
	return b, run, api.ReplyRequest{Reply: api.Reply{Question: "1.1", By: "ada",
		Value: json.RawMessage(`{"n": 1}`)},
		Question: api.Question{ID: "1.1", Call: "1.1", Tool: "probe", Schema: tool.OutputSchema},
		Tool:     &tool, Notes: []string{"of admission"},
		Origin: executionOf(compiled).Origin}
}

func (b *bench) reply(t *testing.T, r api.ReplyRequest) (api.ReplyDecision, error) {
	t.Helper()
	var decision api.ReplyDecision
	value, err := within(t, api.CheckReplyActivity, r, func(ctx context.Context,
		in converter.EncodedValues) (any, error) {
		var r api.ReplyRequest
		if err := in.Get(&r); err != nil {
			return nil, err
		}
		return b.Reply(ctx, r)
	})
	if err == nil {
		err = value.Get(&decision)
	}
	return decision, err
}

// An invalid reply ends nothing and is refused with all faults. A refusal by the person needs no
// form.
func TestReply_IsValidatedFirst(t *testing.T) {
	b, run, r := humanBench(t)
	for value, want := range map[string]int{`{"n":1}`: 0, `{"n":"x","m":2}`: 2, `[`: 1} {
		r.Reply.Value = json.RawMessage(value)
		if value == `[` { // no JSON value reaches an activity like this: the SDK would not send it
			problems, err := checkReply(r)
			if err != nil || len(problems) != want {
				t.Errorf("%s: %v, %v", value, problems, err)
			}
			continue
		}
		decision, err := b.reply(t, r)
		if err != nil || len(decision.Problems) != want {
			t.Errorf("%s: %+v, %v", value, decision, err)
		}
	}
	r.Reply = api.Reply{Question: "1.1", By: "ada", Decline: true}
	if decision, err := b.reply(t, r); err != nil || len(decision.Problems) > 0 {
		t.Errorf("a refusal: %+v, %v", decision, err)
	}
	r.Reply, r.Question.Schema = api.Reply{Value: json.RawMessage(`1`)},
		json.RawMessage(`{"type":7}`)
	if _, err := b.reply(t, r); err == nil {
		t.Error("a form that is none checks replies")
	}
	if run.result != nil || run.failure != nil {
		t.Errorf("the call was ended: %v, %v", run.result, run.failure)
	}
}

// An answer is the call's result, compact, with all notes and its tokens, and its message is cached
// for the next model step. A refusal is the call's error.
func TestReply_EndsTheCall(t *testing.T) {
	b, run, r := humanBench(t)
	r.Complete, r.Reply.Reason = true, "enough"
	if decision, err := b.reply(t, r); err != nil || decision.Early {
		t.Fatalf("%+v, %v", decision, err)
	}
	result := run.result.(*api.Result)
	if string(result.Output) != `{"n":1}` || strings.Join(result.Notes,
		"|") != "of admission|answered by ada: enough" || result.Tokens == 0 || run.failure != nil {
		t.Errorf("got %+v, %v", result, run.failure)
	}
	m := api.CallOutcome{ID: "1.1", Result: result}.Message()
	if !b.remembers(t, "run-1", m) {
		t.Error("the message is not remembered")
	}
	b, run, r = humanBench(t)
	r.Complete, r.Reply = true, api.Reply{Question: "1.1", By: "ada", Decline: true, Reason: "no"}
	if decision, err := b.reply(t, r); err != nil || decision.Early {
		t.Fatalf("%+v, %v", decision, err)
	}
	if e, _ := callError(t, run.failure); e.Type != api.ErrApprovalDenied ||
		e.Message != "declined by ada: no" || e.Retryable || run.result != nil {
		t.Errorf("got %+v, %v", e, run.result)
	}
}

// The call has ended, no worker has it, or the server does not answer.
func TestReply_DependsOnTheStateOfTheCall(t *testing.T) {
	no := api.Reply{Question: "1.1", By: "ada", Decline: true}
	for _, test := range []struct {
		name  string
		state enumspb.PendingActivityState
		reply api.Reply
		early bool
		ended bool
	}{
		{"over", 0, api.Reply{}, false, false},
		{"refused when over", 0, no, false, false},
		{"answered before a worker has it", enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, api.Reply{},
			false, true},
		{"refused before a worker has it", enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, no, true,
			false},
		{"refused while it is cancelled", enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED, no,
			false, true},
	} {
		b, run, r := humanBench(t)
		run.pending, r.Complete = test.state, true
		if test.reply.Decline {
			r.Reply = test.reply
		}
		decision, err := b.reply(t, r)
		if ended := run.result != nil || run.failure != nil; err != nil ||
			decision.Early != test.early || ended != test.ended {
			t.Errorf("%s: %+v, %v; ended: %v", test.name, decision, err, ended)
		}
	}
	b, run, r := humanBench(t)
	run.missing, r.Complete = serviceerror.NewUnavailable("away"), true
	if _, err := b.reply(t, r); err == nil {
		t.Error("a reply is taken by a server that is away")
	}
	b, _, r = humanBench(t)
	r.Tool.Digest, r.Complete = "another", true
	if _, err := b.reply(t, r); err == nil || err.Error() != `activity error (type: switchyard/check_reply, scheduledEventID: 0, startedEventID: 0, identity: ): the pinned toolspec of probe cannot be used here: the pinned spec of tool "probe" has the digest MEnD3sEY8EA2I0kJ, not another; was it written by another version of Switchyard? (type: wrapError, retryable: true): the pinned spec of tool "probe" has the digest MEnD3sEY8EA2I0kJ, not another; was it written by another version of Switchyard?` {
		t.Errorf("a reply to a tool that was altered: %v", err)
	}
}

// The decision about a human tool's call has the question without sensitive values. Long questions
// are admitted in parts that fit into history.
func TestAdmit_RendersQuestions(t *testing.T) {
	b, _, compiled := askingBench(t, nil, func(s *toolspecs.Spec) {
		asHuman(s)
		s.Parameters = append(s.Parameters, toolspecs.Parameter{Name: "pin", Type: "string",
			Sensitive: true})
		s.Entry.Kind = toolspecs.HumanEntry{Question: "{{args.text}} {{args.pin}}"}
	})
	request := api.AdmissionRequest{Tools: []api.Tool{compiled.Tool()}}
	long, _ := json.Marshal(strings.Repeat("<", api.MaxQuestionText))
	request.Calls = append(request.Calls, api.Call{ID: "1.1", Tool: "probe",
		Arguments: `{"text":"Well?","pin":"4711"}`}, api.Call{ID: "1.2", Tool: "probe",
		Arguments: `{"text":7}`})
	for range 40 {
		request.Calls = append(request.Calls, api.Call{ID: "1.3", Tool: "probe",
			Arguments: `{"text":` + string(long) + `}`})
	}
	decisions, err := b.Admission.Admit(t.Context(), request)
	if err != nil || len(decisions) < 3 || len(decisions) > 20 {
		t.Fatalf("%d decisions, %v", len(decisions), err)
	}
	if decisions[0].Question != "Well? ***" || decisions[1].Question != "" ||
		decisions[1].Error == nil || decisions[2].Question == "" {
		t.Errorf("got %+v", decisions[:2])
	}
	if data, _ := json.Marshal(decisions); len(data) > api.MaxPayload {
		t.Errorf("the decisions take %d bytes", len(data))
	}
}
