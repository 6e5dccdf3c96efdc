package runlist

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
)

func TestQuery_SelectsByEveryField(t *testing.T) {
	at := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		query Query
		want  string
	}{
		{Query{}, history.TopRuns()},
		{Query{All: true, Agent: "a'b", Status: history.RunTimedOut}, history.AllRuns() +
			` AND SwitchyardAgent = 'a\'b' AND ExecutionStatus = 'TimedOut'`},
		{Query{Status: history.RunPaused, Waiting: true}, history.TopRuns() +
			` AND CloseTime IS NULL AND SwitchyardWaiting = true AND CloseTime IS NULL`},
		{Query{Conversation: "c", Caller: "ada", Tool: "refund", Outcome: api.OutcomeFailed,
			Since: at, Until: at.Add(time.Hour), Query: "A = 1 OR B = 2"}, history.TopRuns() +
			` AND SwitchyardConversation = 'c' AND SwitchyardCaller = 'ada'` +
			` AND SwitchyardTools = 'refund' AND SwitchyardOutcome = 'failed'` +
			` AND StartTime >= '2026-01-31T08:00:00Z' AND StartTime < '2026-01-31T09:00:00Z'` +
			` AND (A = 1 OR B = 2)`},
	} {
		if got := tt.query.condition(); got != tt.want {
			t.Errorf("the condition is\n%s\nwant\n%s", got, tt.want)
		}
	}
}
