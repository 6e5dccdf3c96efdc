package workflows

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// An activity has the lane, timeouts with grace for the executor, and retries of its tool, and
// never a second attempt of a tool that must not run twice.
func TestCallOptions_FollowTheTool(t *testing.T) {
	tool := api.Tool{Name: "t", Lane: api.LaneSerial, Effect: api.EffectIdempotent,
		Timeout:      api.Duration(time.Minute),
		QueueTimeout: api.Duration(time.Hour), Heartbeat: api.Duration(3 * time.Second),
		Retry: api.Retry{MaxAttempts: 4, InitialInterval: api.Duration(time.Second), Backoff: 3,
			MaxInterval: api.Duration(9 * time.Second)}}
	o := callOptions("base", "2.1", tool, api.Route{}, "sum")
	if o.TaskQueue != "base/serial" || o.ActivityID != "2.1" || o.Summary != "sum" ||
		!o.WaitForCancellation {
		t.Errorf("options: %+v", o)
	}
	if o.StartToCloseTimeout != time.Minute+graceAfterTimeout ||
		o.ScheduleToStartTimeout != time.Hour || o.HeartbeatTimeout != 3*time.Second {
		t.Errorf("timeouts: %+v", o)
	}
	if r := o.RetryPolicy; r.MaximumAttempts != 4 || r.InitialInterval != time.Second ||
		r.BackoffCoefficient != 3 || r.MaximumInterval != 9*time.Second {
		t.Errorf("retries: %+v", r)
	}
	tool.AnswerWithin = api.Duration(24 * time.Hour)
	if o := callOptions("base", "2.1", tool, api.Route{},
		"sum"); o.StartToCloseTimeout != 24*time.Hour+time.Minute+graceAfterTimeout ||
		o.ScheduleToCloseTimeout != 0 {
		t.Errorf("the timeouts of a call that may ask: %+v", o)
	}
	tool.Dispatch = api.DispatchQuestion
	if o := callOptions("base", "2.1", tool, api.Route{},
		"sum"); o.ScheduleToCloseTimeout != 24*time.Hour || o.HeartbeatTimeout != 0 ||
		o.WaitForCancellation {
		t.Errorf("the options of a call that a person answers: %+v", o)
	}
	for _, test := range []struct {
		effect   api.Effect
		attempts int
		want     int32
	}{
		{api.EffectOnce, 4, 1}, {api.EffectOnce, 0, 1}, {api.EffectRead, 0, 1},
		{api.EffectRead, 4, 4},
		{api.EffectIdempotent, -1, 1}, {api.EffectRead, 1 << 40, 1 << 20},
	} {
		tool := api.Tool{Effect: test.effect, Retry: api.Retry{MaxAttempts: test.attempts}}
		if got := retryPolicy(tool); got.MaximumAttempts != test.want ||
			got.BackoffCoefficient < 1 {
			t.Errorf("effect %s with %d attempts: %+v, want %d", test.effect, test.attempts, got,
				test.want)
		}
	}
}

// The route sets the queue, the lane's queue timeout if the tool has none, and additional time for
// the wait with a holder. Priorities do not bypass the queue.
func TestRouteOptions_FollowTheRoute(t *testing.T) {
	plain := api.Tool{Name: "t", Lane: "printer", Timeout: api.Duration(time.Minute),
		AnswerWithin: api.Duration(time.Hour)}
	hurried := plain
	hurried.QueueTimeout = api.Duration(time.Second)
	minute := api.Duration(time.Minute)
	attempt := time.Hour + time.Minute + graceAfterTimeout
	for _, test := range []struct {
		name       string
		tool       api.Tool
		route      api.Route
		queue      string
		start, run time.Duration
		eager      bool
	}{
		{"plain", plain, api.Route{}, "base/printer", 0, attempt, true},
		{"another queue", plain, api.Route{Queue: "base/bypass/printer"}, "base/bypass/printer", 0,
			attempt, false},
		{"the lane's queue timeout", plain, api.Route{QueueTimeout: minute}, "base/printer",
			time.Minute, attempt, false},
		{"the tool's queue timeout", hurried, api.Route{QueueTimeout: minute}, "base/printer",
			time.Second, attempt, false},
		{"a holder", plain, api.Route{Holds: true}, "base/printer", 0, attempt + 365*24*time.Hour,
			false},
		{"a holder and a queue timeout", plain, api.Route{Holds: true, QueueTimeout: minute},
			"base/printer", time.Minute, attempt + time.Minute, false},
	} {
		o := callOptions("base", "1.1", test.tool, test.route, "sum")
		if o.TaskQueue != test.queue || o.ScheduleToStartTimeout != test.start ||
			o.StartToCloseTimeout != test.run || o.DisableEagerExecution == test.eager {
			t.Errorf("%s: %+v", test.name, o)
		}
	}
}
