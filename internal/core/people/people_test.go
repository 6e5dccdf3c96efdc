package people

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
)

// Values at a bound are accepted.
func TestReplyCheck_RefusesInvalidReplies(t *testing.T) {
	for _, test := range []struct {
		name  string
		reply api.Reply
		words string
	}{
		{"an answer", api.Reply{By: "ada", Value: []byte(`null`)}, ""},
		{"a refusal", api.Reply{By: "ada", Decline: true, Reason: strings.Repeat("r", maxReason)}, ""},
		{"the largest", api.Reply{By: strings.Repeat("b", maxBy), Value: make([]byte, api.MaxPayload)}, ""},
		{"without a name", api.Reply{By: "\t ", Value: []byte(`1`)}, "the reply has no name"},
		{"of a long name", api.Reply{By: strings.Repeat("b", maxBy+1), Value: []byte(`1`)}, "the name of the person who replies is too long"},
		{"with a long reason", api.Reply{By: "ada", Decline: true, Reason: strings.Repeat("r",
			maxReason+1)}, "the reason is too long"},
		{"both", api.Reply{By: "ada", Decline: true, Value: []byte(`1`)}, "a reply either has a value or declines"},
		{"neither", api.Reply{By: "ada"}, "the reply neither has a value nor declines"},
		{"too large", api.Reply{By: "ada", Value: make([]byte, api.MaxPayload+1)}, "the answer is too large: the maximum is 1.5 MiB of JSON"},
	} {
		e := CheckReply(test.reply)
		if (e == nil) != (test.words == "") || e != nil && (e.Type != api.ReplyMalformed ||
			e.Error() != test.words) {
			t.Errorf("%s: %v", test.name, e)
		}
	}
}

// A refusal is the error of its call.
func TestReply_IsShownInOneLine(t *testing.T) {
	if got := ReplyNote((api.Reply{By: "ada\nlovelace",
		Value: []byte(`1`)})); got != "answered by ada lovelace" {
		t.Errorf("got %q", got)
	}
	e := RefusalError(api.Reply{By: "ada", Decline: true, Reason: "no\x1b[2J"})
	if e.Type != api.ErrApprovalDenied || e.Message != "declined by ada: no [2J" ||
		e.Phase != api.PhaseExecution {
		t.Errorf("got %+v", e)
	}
	if got := (&api.ReplyError{Type: api.ReplyBusy}).Error(); got != string(api.ReplyBusy) {
		t.Errorf("an error without words: %q", got)
	}
	if got := api.QuestionID("2.1", 3); got != "2.1/3" {
		t.Errorf("got %q", got)
	}
}

// The error is the same for each timeout of the server. A queue timeout of the tool is a different
// error.
func TestHumanTimeouts_AreOneError(t *testing.T) {
	human := api.Tool{Name: "ask", Dispatch: api.DispatchQuestion, Effect: api.EffectRead,
		AnswerWithin: api.Duration(time.Hour)}
	queued := human
	queued.QueueTimeout = api.Duration(time.Minute)
	for _, test := range []struct {
		kind failures.TimeoutKind
		tool api.Tool
		want api.ErrorType
	}{
		{"ScheduleToClose", human, api.ErrApprovalTimeout}, {"StartToClose", human, api.ErrApprovalTimeout},
		{failures.TimeoutScheduleToStart, human, api.ErrApprovalTimeout},
		{"ScheduleToClose", queued, api.ErrApprovalTimeout}, {failures.TimeoutScheduleToStart, queued,
			api.ErrQueueTimeout},
	} {
		e := failures.CallError(failures.ActivityFailure{Timeout: test.kind}, test.tool,
			api.Route{})
		if e.Type != test.want || test.want == api.ErrApprovalTimeout && e.Message != "the question of ask was not answered within 1h0m0s" {
			t.Errorf("%s with a queue timeout of %s: %+v", test.kind, test.tool.QueueTimeout, e)
		}
	}
}
