package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard/api"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

const (
	// lookEvery is how often the server is asked what waits, lookWithin how long one look may take.
	lookEvery  = 15 * time.Second
	lookWithin = 10 * time.Second
	// maxLooked bounds the runs among which the oldest approval is sought, lookPage is how many come at a time.
	maxLooked = 2000
	lookPage  = 200
)

// openRuns collects what runs and waits in the whole namespace, as the server's list of runs tells: no worker sees all of it. Every
// worker that decides runs tells the same, so that no one of them has to be there.
type openRuns struct {
	conn      client.Client
	namespace string
	converter converter.DataConverter
	mu        sync.Mutex
	// seen is what the last look saw; nil before there was one.
	seen                             *look
	running, waiting, oldest, looked *prometheus.Desc
}

// look is what one look at the server's list saw. oldest is since when an approval is open; zero where none is.
type look struct {
	at      time.Time
	running map[string]int64
	waiting int64
	oldest  time.Time
}

// newOpenRuns returns what has seen nothing yet. data may be nil for the SDK's own.
func newOpenRuns(conn client.Client, namespace string, data converter.DataConverter) *openRuns {
	if data == nil {
		data = converter.GetDefaultDataConverter()
	}
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("switchyard_"+name, help, labels, nil)
	}
	return &openRuns{conn: conn, namespace: namespace, converter: data,
		running: describe("runs_running", "Runs of the namespace that have not ended, by kind; every worker that decides runs tells the same.", "kind"),
		waiting: describe("runs_waiting", "Runs of the namespace that wait for a person's approval or answer; every worker that decides runs tells the same."),
		oldest:  describe("approval_oldest_age_seconds", "How long the oldest open approval of the namespace has waited; 0 where none is open."),
		looked:  describe("runs_last_look_timestamp_seconds", "When the server was last asked successfully what runs and waits."),
	}
}

// follow asks the server until ctx ends.
func (o *openRuns) follow(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		o.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look asks the server. Where it does not answer, or has not all search attributes, what was seen before stays.
func (o *openRuns) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	l := &look{at: time.Now(), running: map[string]int64{}}
	count := func(query string) (int64, error) {
		r, err := o.conn.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: o.namespace, Query: query})
		return r.GetCount(), err
	}
	for _, kind := range []string{"agent", "plan", "call"} {
		n, err := count(fmt.Sprintf("ExecutionStatus = 'Running' AND %s = '%s'", api.AttributeKind, kind))
		if err != nil {
			return
		}
		l.running[kind] = n
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

// waitingRuns is the query of the runs that wait for people.
const waitingRuns = "ExecutionStatus = 'Running' AND " + api.AttributeWaiting + " = true"

// oldestApproval returns since when the oldest open approval waits, as the runs' memos tell.
func (o *openRuns) oldestApproval(ctx context.Context) (oldest time.Time, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: o.namespace, Query: waitingRuns, PageSize: lookPage}
	for looked := 0; looked < maxLooked; looked += lookPage {
		page, err := o.conn.ListWorkflow(ctx, request)
		if err != nil {
			return oldest, err
		}
		for _, run := range page.GetExecutions() {
			if since, ok := o.since(run.GetMemo()); ok && (oldest.IsZero() || since.Before(oldest)) {
				oldest = since
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	return oldest, nil
}

// since returns since when a run waits for an approval; a memo that cannot be read tells nothing.
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

// observeReadiness exports whether the worker is ready, and the lanes that it serves.
func observeReadiness(ready func() bool, lanes func() []string, registry prometheus.Registerer) {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "switchyard_worker_ready",
		Help: "1 while every lane of the worker is polled and it does not stop, else 0; what /readyz says."}, func() float64 {
		if ready() {
			return 1
		}
		return 0
	}), &servedLanes{lanes: lanes, served: prometheus.NewDesc("switchyard_lane_served", "1 for each lane that the worker serves.", []string{"lane"}, nil)})
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
