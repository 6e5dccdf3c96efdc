package host

import (
	"cmp"
	"context"
	"os"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/traces"
)

// tracing reports the runs of this worker to a traces.Live, which derives the spans from their
// histories.
type tracing struct {
	interceptor.WorkerInterceptorBase
	live *traces.Live
	// stop ends the export after a last attempt to send.
	stop func()
}

// trace starts the export of traces. Without an endpoint the result does nothing.
func (c Config) trace(ctx context.Context, conn client.Client,
	registry *prometheus.Registry) *tracing {
	endpoint, err := traces.NewEndpoint(c.OTLPEndpoint, os.Getenv)
	if err != nil || endpoint == nil { // validate reported the error
		return &tracing{stop: func() {}}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &tracing{live: traces.NewLive(conn, endpoint, traces.Options{Content: c.OTLPContent},
		c.Logger)}
	observeTraces(t.live.Counts, registry)
	var running sync.WaitGroup
	running.Go(func() { t.live.Run(ctx) })
	t.stop = func() {
		cancel()
		running.Wait()
	}
	c.Logger.Info("traces of runs are sent", "endpoint", endpoint.Address())
	return t
}

func observeTraces(counts func() (sent, dropped int64), registry prometheus.Registerer) {
	registry.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "switchyard_trace_spans_sent_total",
			Help: "Spans that the OTLP endpoint accepted from this worker."},
			func() float64 { sent, _ := counts(); return float64(sent) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "switchyard_trace_spans_dropped_total",
			Help: "Spans that were lost because the OTLP endpoint was unreachable, rejected them " +
				"or was too slow."},
			func() float64 { _, dropped := counts(); return float64(dropped) }))
}

// InterceptWorkflow reports every run that starts here or is taken over from another worker.
func (t *tracing) InterceptWorkflow(ctx workflow.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	info := workflow.GetInfo(ctx)
	switch info.WorkflowType.Name {
	case api.AgentWorkflow, api.PlanWorkflow, api.CallWorkflow, api.SessionWorkflow:
		if t.live != nil {
			t.live.Saw(info.WorkflowExecution.ID, cmp.Or(info.FirstRunID,
				info.WorkflowExecution.RunID))
		}
	}
	return next
}
