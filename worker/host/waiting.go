package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/queues"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
)

const (
	// lookEvery is the interval of polling the server, lookWithin bounds one poll.
	lookEvery  = 15 * time.Second
	lookWithin = 10 * time.Second
	// electEvery is the interval of checking that a worker is elected, lookStop the time in which a
	// worker that stops hands the reading over. A worker reads for readFor at most, and another one
	// after readHeartbeat if it is lost.
	electEvery    = 5 * time.Minute
	lookStop      = 2 * time.Second
	readFor       = 24 * time.Hour
	readHeartbeat = 45 * time.Second
	// maxLooked bounds the runs that are searched for the oldest approval, lookPage is the page
	// size.
	maxLooked = 2000
	lookPage  = 200
)

// openRuns collects the running and waiting runs of the whole namespace by polling visibility:
// workers cannot see the backlog. Of the workers that execute workflows and serve metrics, one is
// elected to poll and export the values.
type openRuns struct {
	conn      client.Client
	namespace string
	converter converter.DataConverter
	mu        sync.Mutex
	// seen is the result of the last poll; nil before the first.
	seen                             *look
	running, waiting, oldest, looked *prometheus.Desc
}

// look is the result of one poll. oldest is the time since which the oldest approval is open; zero
// for none.
type look struct {
	at      time.Time
	running map[string]int64
	waiting int64
	oldest  time.Time
}

// newOpenRuns returns a collector that has not polled yet. data may be nil for the SDK's converter.
func newOpenRuns(conn client.Client, namespace string, data converter.DataConverter) *openRuns {
	if data == nil {
		data = converter.GetDefaultDataConverter()
	}
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("switchyard_"+name, help, labels, nil)
	}
	return &openRuns{conn: conn, namespace: namespace, converter: data,
		running: describe("runs_running", "Runs of the namespace that have not ended, by "+
			"kind.", "kind"),
		waiting: describe("runs_waiting", "Runs of the namespace that wait for an approval or an "+
			"answer. One worker is elected to export it."),
		oldest: describe("approval_oldest_age_seconds",
			"Age of the namespace's oldest open approval; 0 without one."),
		looked: describe("runs_last_look_timestamp_seconds",
			"Time of the last successful poll of running and waiting runs."),
	}
}

// observeRuns has this process export the running and waiting runs of the namespace when it is
// elected for that, if it executes workflows and serves metrics.
func (c Config) observeRuns(ctx context.Context, conn client.Client,
	registry prometheus.Registerer) (stop func()) {
	if c.MetricsAddress == "" || !c.decidesRuns() {
		return func() {}
	}
	open := newOpenRuns(conn, c.Connection.Namespace, c.Connection.DataConverter)
	registry.MustRegister(open)
	w := worker.New(conn, queues.Backlog(c.TaskQueue), worker.Options{
		DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: 1,
		MaxConcurrentActivityTaskPollers: 1, WorkerStopTimeout: lookStop,
	})
	w.RegisterActivityWithOptions(open.read,
		activity.RegisterOptions{Name: api.ReadBacklogActivity})
	if err := w.Start(); err != nil {
		c.Logger.Warn("this worker cannot be elected to count open runs for metrics", "error", err)
		return func() {}
	}
	go c.electReader(ctx, conn)
	return w.Stop
}

// electReader starts the activity that reads the backlog, and again in case somebody has
// terminated it. The worker that executes it is elected: when that stops or is lost, the retry goes
// to another.
func (c Config) electReader(ctx context.Context, conn client.Client) {
	tick := time.NewTicker(electEvery)
	defer tick.Stop()
	for {
		_, err := conn.ExecuteActivity(ctx, client.StartActivityOptions{
			ID: queues.Backlog(c.TaskQueue), TaskQueue: queues.Backlog(c.TaskQueue),
			ActivityIDConflictPolicy: enumspb.ACTIVITY_ID_CONFLICT_POLICY_USE_EXISTING,
			StartToCloseTimeout:      readFor,
			HeartbeatTimeout:         readHeartbeat,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second,
				BackoffCoefficient: 1},
			Summary: "counts open runs for metrics",
		}, api.ReadBacklogActivity)
		if err != nil && ctx.Err() == nil {
			c.Logger.Warn("starting the activity that counts open runs failed; retrying",
				"error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// errReaderStops makes the server elect another reader.
var errReaderStops = errors.New("the worker that reads the backlog stops")

// read implements the activity api.ReadBacklogActivity: it polls the server until the worker stops
// or is no longer the elected one.
func (o *openRuns) read(ctx context.Context) error {
	defer o.forget()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		o.look(ctx)
		activity.RecordHeartbeat(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-activity.GetWorkerStopChannel(ctx):
			return errReaderStops
		case <-tick.C:
		}
	}
}

// forget stops exporting the last result.
func (o *openRuns) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = nil
}

// look polls the server. If the server does not answer or lacks search attributes, the last result
// stays.
func (o *openRuns) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	l := &look{at: time.Now(), running: map[string]int64{}}
	count := func(query string) (int64, error) {
		r, err := o.conn.CountWorkflow(ctx,
			&workflowservice.CountWorkflowExecutionsRequest{Namespace: o.namespace, Query: query})
		return r.GetCount(), err
	}
	for _, kind := range []api.CallerType{api.CallerAgent, api.CallerPlan, api.CallerSession,
		api.CallerDirect} {
		n, err := count(fmt.Sprintf("ExecutionStatus = 'Running' AND %s = '%s'", api.AttributeKind,
			kind))
		if err != nil {
			return
		}
		l.running[string(kind)] = n
	}
	var err error
	if l.waiting, err = count(waitingRuns); err != nil {
		return
	}
	if l.waiting > 0 {
		if l.oldest, err = o.oldestApproval(ctx); err != nil {
			return
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = l
}

// waitingRuns is the query for runs that wait for people.
const waitingRuns = "ExecutionStatus = 'Running' AND " + api.AttributeWaiting + " = true"

// oldestApproval returns the time since which the oldest approval is open, from the memos of runs.
func (o *openRuns) oldestApproval(ctx context.Context) (oldest time.Time, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: o.namespace,
		Query: waitingRuns, PageSize: lookPage}
	for looked := 0; looked < maxLooked; looked += lookPage {
		page, err := o.conn.ListWorkflow(ctx, request)
		if err != nil {
			return oldest, err
		}
		for _, run := range page.GetExecutions() {
			if since, ok := o.since(run.GetMemo()); ok &&
				(oldest.IsZero() || since.Before(oldest)) {
				oldest = since
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	return oldest, nil
}

// since returns the time since which a run waits for an approval. An unreadable memo counts as
// none.
func (o *openRuns) since(memo *commonpb.Memo) (since time.Time, ok bool) {
	payload := memo.GetFields()[api.ApprovalsMemo]
	if payload == nil || o.converter.FromPayload(payload, &since) != nil {
		return since, false
	}
	return since, !since.IsZero()
}

// Describe implements prometheus.Collector.
func (o *openRuns) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{o.running, o.waiting, o.oldest, o.looked} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (o *openRuns) Collect(metrics chan<- prometheus.Metric) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen == nil {
		return
	}
	tell := func(d *prometheus.Desc, v float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for kind, n := range o.seen.running {
		tell(o.running, float64(n), kind)
	}
	age := 0.0
	if !o.seen.oldest.IsZero() {
		age = time.Since(o.seen.oldest).Seconds()
	}
	tell(o.waiting, float64(o.seen.waiting))
	tell(o.oldest, age)
	tell(o.looked, float64(o.seen.at.Unix()))
}

// observeReadiness exports whether the worker is ready and which lanes it serves.
func observeReadiness(ready func() bool, lanes func() []string, registry prometheus.Registerer) {
	registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "switchyard_worker_ready",
			Help: "1 while every lane of the worker is polled and it is not stopping, else 0, as " +
				"/readyz."}, func() float64 {
			if ready() {
				return 1
			}
			return 0
		}), &servedLanes{lanes: lanes, served: prometheus.NewDesc("switchyard_lane_served",
		"1 for each lane that the worker serves.", []string{"lane"}, nil)})
}

// servedLanes collects the lanes that this process serves.
type servedLanes struct {
	lanes  func() []string
	served *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (s *servedLanes) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- s.served }

// Collect implements prometheus.Collector.
func (s *servedLanes) Collect(metrics chan<- prometheus.Metric) {
	for _, lane := range s.lanes() {
		metrics <- prometheus.MustNewConstMetric(s.served, prometheus.GaugeValue, 1, lane)
	}
}
