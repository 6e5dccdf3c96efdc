package workflows

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard"
)

// TestCallOptions proves how a tool's facts become an activity's options: lane, timeouts with grace for the executor,
// retries, and never a second attempt of a tool that must not run twice.
func TestCallOptions(t *testing.T) {
	tool := switchyard.Tool{Name: "t", Lane: switchyard.LaneSerial, Effect: switchyard.EffectIdempotent, Timeout: switchyard.Duration(time.Minute),
		QueueTimeout: switchyard.Duration(time.Hour), Heartbeat: switchyard.Duration(3 * time.Second),
		Retry: switchyard.Retry{MaxAttempts: 4, InitialInterval: switchyard.Duration(time.Second), Backoff: 3, MaxInterval: switchyard.Duration(9 * time.Second)}}
	o := callOptions("base", "2.1", tool, "sum")
	if o.TaskQueue != "base/serial" || o.ActivityID != "2.1" || o.Summary != "sum" || !o.WaitForCancellation {
		t.Errorf("options: %+v", o)
	}
	if o.StartToCloseTimeout != time.Minute+graceAfterTimeout || o.ScheduleToStartTimeout != time.Hour || o.HeartbeatTimeout != 3*time.Second {
		t.Errorf("timeouts: %+v", o)
	}
	if r := o.RetryPolicy; r.MaximumAttempts != 4 || r.InitialInterval != time.Second || r.BackoffCoefficient != 3 || r.MaximumInterval != 9*time.Second {
		t.Errorf("retries: %+v", r)
	}
	tool.AnswerWithin = switchyard.Duration(24 * time.Hour)
	if o := callOptions("base", "2.1", tool, "sum"); o.StartToCloseTimeout != 24*time.Hour+time.Minute+graceAfterTimeout || o.ScheduleToCloseTimeout != 0 {
		t.Errorf("the timeouts of a call that may ask: %+v", o)
	}
	tool.Kind = switchyard.KindHuman
	if o := callOptions("base", "2.1", tool, "sum"); o.ScheduleToCloseTimeout != 24*time.Hour || o.HeartbeatTimeout != 0 || o.WaitForCancellation {
		t.Errorf("the options of a call that a person answers: %+v", o)
	}
	for _, test := range []struct {
		effect   switchyard.Effect
		attempts int
		want     int32
	}{
		{switchyard.EffectOnce, 4, 1}, {switchyard.EffectOnce, 0, 1}, {switchyard.EffectRead, 0, 1}, {switchyard.EffectRead, 4, 4},
		{switchyard.EffectIdempotent, -1, 1}, {switchyard.EffectRead, 1 << 40, 1 << 20},
	} {
		tool := switchyard.Tool{Effect: test.effect, Retry: switchyard.Retry{MaxAttempts: test.attempts}}
		if got := retryPolicy(tool); got.MaximumAttempts != test.want || got.BackoffCoefficient < 1 {
			t.Errorf("effect %s with %d attempts: %+v, want %d", test.effect, test.attempts, got, test.want)
		}
	}
}
