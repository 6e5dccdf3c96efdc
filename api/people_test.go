package api

import (
	"strings"
	"testing"
	"time"
)

// Values at a bound are accepted.
func TestReplyCheck_RefusesInvalidReplies(t *testing.T) {
	for _, test := range []struct {
		name  string
		reply Reply
		words string
	}{
		{"an answer", Reply{By: "ada", Value: []byte(`null`)}, ""},
		{"a refusal", Reply{By: "ada", Decline: true, Reason: strings.Repeat("r", maxReason)}, ""},
		{"the largest", Reply{By: strings.Repeat("b", maxBy), Value: make([]byte, MaxPayload)}, ""},
		{"without a name", Reply{By: "\t ", Value: []byte(`1`)}, "the reply has no name"},
		{"of a long name", Reply{By: strings.Repeat("b", maxBy+1), Value: []byte(`1`)}, "the name of the person who replies is too long"},
		{"with a long reason", Reply{By: "ada", Decline: true, Reason: strings.Repeat("r",
			maxReason+1)}, "the reason is too long"},
		{"both", Reply{By: "ada", Decline: true, Value: []byte(`1`)}, "a reply either has a value or declines"},
		{"neither", Reply{By: "ada"}, "the reply neither has a value nor declines"},
		{"too large", Reply{By: "ada", Value: make([]byte, MaxPayload+1)}, "the answer is too large: the maximum is 1.5 MiB of JSON"},
	} {
		e := test.reply.Check()
		if (e == nil) != (test.words == "") || e != nil && (e.Type != ReplyMalformed ||
			e.Error() != test.words) {
			t.Errorf("%s: %v", test.name, e)
		}
	}
}

// A refusal is the error of its call.
func TestReply_IsShownInOneLine(t *testing.T) {
	if got := (Reply{By: "ada\nlovelace",
		Value: []byte(`1`)}).Note(); got != "answered by ada lovelace" {
		t.Errorf("got %q", got)
	}
	e := Reply{By: "ada", Decline: true, Reason: "no\x1b[2J"}.Denied()
	if e.Type != ErrApprovalDenied || e.Message != "declined by ada: no [2J" ||
		e.Phase != PhaseExecution {
		t.Errorf("got %+v", e)
	}
	if got := (&ReplyError{Type: ReplyBusy}).Error(); got != string(ReplyBusy) {
		t.Errorf("an error without words: %q", got)
	}
	if got := QuestionID("2.1", 3); got != "2.1/3" {
		t.Errorf("got %q", got)
	}
}

// The error is the same for each timeout of the server. A queue timeout of the tool is a different
// error.
func TestHumanTimeouts_AreOneError(t *testing.T) {
	human := Tool{Name: "ask", Dispatch: DispatchQuestion, Effect: EffectRead,
		AnswerWithin: Duration(time.Hour)}
	queued := human
	queued.QueueTimeout = Duration(time.Minute)
	for _, test := range []struct {
		kind TimeoutKind
		tool Tool
		want ErrorType
	}{
		{"ScheduleToClose", human, ErrApprovalTimeout}, {"StartToClose", human, ErrApprovalTimeout},
		{TimeoutScheduleToStart, human, ErrApprovalTimeout},
		{"ScheduleToClose", queued, ErrApprovalTimeout}, {TimeoutScheduleToStart, queued,
			ErrQueueTimeout},
	} {
		e := ActivityFailure{Timeout: test.kind}.CallError(test.tool, Route{})
		if e.Type != test.want || test.want == ErrApprovalTimeout && e.Message != "the question of ask was not answered within 1h0m0s" {
			t.Errorf("%s with a queue timeout of %s: %+v", test.kind, test.tool.QueueTimeout, e)
		}
	}
}
