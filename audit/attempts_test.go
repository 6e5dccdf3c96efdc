package audit

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Each failed attempt is reported once, whatever else is open.
func TestAttempts_TellsOfEachFailureOnce(t *testing.T) {
	t.Parallel()
	call := func(attempt int, failure string) Running {
		return Running{Kind: KindCall, ID: "1.1", Tool: "pay", Lane: "serial", Attempt: attempt,
			LastFailure: failure}
	}
	step := Running{Kind: KindStep, ID: "turn-1", Attempt: 3, LastFailure: "429"}
	instance := Running{Kind: KindInstance, ID: "browser", Attempt: 2, LastFailure: "lost"}
	var attempts Attempts
	for i, tt := range []struct {
		running []Running
		want    string
	}{
		{[]Running{call(1, ""), instance}, ""},
		{[]Running{call(2, "reset")}, "1.1 pay serial 1 reset; "},
		{[]Running{call(2, "reset"), step}, "turn-1 2 429; "},
		{[]Running{call(4, "timeout"), step}, "1.1 pay serial 3 timeout; "},
		{nil, ""},
	} {
		got := ""
		for _, e := range attempts.Next(tt.running, time.Now()) {
			if e.Type != api.EventAttemptFailed || e.Sequence != 0 {
				t.Errorf("step %d: %+v", i, e)
			}
			if e.CallID != "" {
				got += fmt.Sprintf("%s %s %s ", e.CallID, e.Tool, e.Timing.Lane)
			}
			got += fmt.Sprintf("%s%d %s; ", spaced(e.Summary), e.Timing.Attempts, e.Failure)
		}
		if got != tt.want {
			t.Errorf("step %d: got %q, want %q", i, got, tt.want)
		}
	}
}

func spaced(word string) string {
	if word == "" {
		return ""
	}
	return word + " "
}
