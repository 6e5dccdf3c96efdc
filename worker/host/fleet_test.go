package host

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/activities/slots"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

func TestFleet_StartFailsAsAWholeWithoutServer(t *testing.T) {
	quietEnvironment(t)
	c := Config{Specs: []toolspecs.Spec{probeSpec("path", "")},
		Functions: []tool.Function{tool.NewFunction("probe", probe)},
		Lanes: []string{"general", "serial",
			"gpu"}, Logger: slog.New(
			slog.DiscardHandler), StopTimeout: time.Millisecond}.withDefaults()
	own, tools, err := c.prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	conn, err := client.NewLazyClient(client.Options{HostPort: closedPort(t),
		Logger:            slog.New(slog.DiscardHandler),
		ConnectionOptions: client.ConnectionOptions{GetSystemInfoTimeout: 100 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	queues := &queueServer{config: c, conn: conn, canceller: newCanceller(time.Second),
		observer: newObserver(prometheus.NewRegistry(), c.Logger)}
	actions, err := c.activities(tools, own, queues, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(c, actions, queues)
	f.answerFor(c, conn, tools, registered{})
	if len(f.workers) != 2 {
		t.Errorf("%d workers for the workflows and the process itself", len(f.workers))
	}
	err = f.start(own.lanes.current())
	if err == nil || !contains(err.Error(), "start to poll") {
		t.Errorf("got %v", err)
	}
	if code := exitCode(c.explain(t.Context(), err)); code != exitConnect {
		t.Errorf("exit code %d", code)
	}
}

// stoppable is an SDK worker that only stops.
type stoppable struct {
	worker.Worker
	stop func()
}

func (s stoppable) Stop() { s.stop() }

// The worker takes no new work while the reader of the backlog stops.
func TestFleet_StopsWorkersBesideTheBacklogReader(t *testing.T) {
	reader, stopping := make(chan struct{}), make(chan struct{})
	lanes := &laneFleet{queueServer: &queueServer{}, actions: &activities.Activities{
		Slots: slots.New(slots.Config{})}, keeper: newKeepers(nil, Config{})}
	f := &fleet{canceller: newCanceller(time.Second), stopTimeout: time.Minute, lanes: lanes,
		workers: []worker.Worker{stoppable{stop: func() { close(stopping) }}},
		beside: func() {
			expect.Receive(t, "the stop of the workers", stopping)
			close(reader)
		}}
	f.stop()
	expect.Receive(t, "the stop of the reader", reader)
}

func TestRun_ReportsWhatIsServed(t *testing.T) {
	c := Config{Logger: slog.New(slog.DiscardHandler)}.withDefaults()
	catalog, err := toolspecs.NewCatalog([]toolspecs.Spec{probeSpec("path", "")})
	if err != nil {
		t.Fatal(err)
	}
	c.tellReady(catalog, nil, "")
	var got Info
	c.Ready = func(i Info) { got = i }
	c.tellReady(catalog, []string{"general", "serial"}, "127.0.0.1:9")
	if got.Namespace != "default" || got.TaskQueue != api.DefaultTaskQueue || len(got.Lanes) != 2 ||
		len(got.Tools) != 1 || got.Metrics != "127.0.0.1:9" {
		t.Errorf("got %+v", got)
	}
}

func TestExitCode_FollowsTheErrorsType(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{errors.New("a lane's worker failed"), exitFailed},
		{invalidError{errors.New("x")}, exitUsage},
		{invalidError{toolspecs.Faults{{Message: "x"}}}, exitUsage},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v: got %d; want %d", c.err, got, c.want)
		}
	}
	if _, ok := errors.AsType[toolspecs.Faults](
		invalidError{toolspecs.Faults{{Message: "x"}}}); !ok {
		t.Error("faults cannot be found in the error of Run")
	}
}
