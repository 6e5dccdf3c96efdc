package host

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"

	"github.com/switchyard/switchyard/api"
)

func TestObserver_CountsAHumanCallOnceWhenTheReplyEndsIt(t *testing.T) {
	registry := prometheus.NewRegistry()
	var logs output
	o := newObserver(registry, slog.New(slog.NewTextHandler(&logs, nil))).forLane("general")
	observe(t, o, "ask", ended{err: activity.ErrResultPending})
	answer := api.ReplyRequest{Tool: &api.Tool{Name: "ask", Lane: "desk"}, Complete: true}
	refusal := answer
	refusal.Reply.Decline = true
	check := answer
	check.Complete = false
	taken := ended{result: api.ReplyDecision{}}
	observe(t, o, api.CheckReplyActivity, taken, check)
	observe(t, o, api.CheckReplyActivity, taken, answer)
	observe(t, o, api.CheckReplyActivity, taken, answer)
	observe(t, o, api.CheckReplyActivity, taken, refusal)
	observe(t, o, api.CheckReplyActivity, ended{result: api.ReplyDecision{Early: true}}, refusal)
	observe(t, o, api.CheckReplyActivity, ended{err: errors.New("away")}, answer)
	observe(t, o, api.CheckReplyActivity, taken, "another")
	serve(t, registry).has(t,
		`switchyard_calls_total{lane="desk",outcome="completed",tool="ask"} 2`,
		`switchyard_calls_total{lane="desk",outcome="approval_denied",tool="ask"} 1`,
	)
	if text := logs.String(); !contains(text, `msg="a person is asked"`, "outcome=pending",
		`msg="a person replied"`) || strings.Contains(text, "level=WARN") {
		t.Errorf("the log is %s", text)
	}
}
