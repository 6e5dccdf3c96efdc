package host

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/panics"
)

// domainMetrics are Switchyard's own metrics of this process; docs/metrics.md lists them. Label
// values are bounded: tools of pinned catalogs, lanes, error types, and the first maxLabels models,
// agents, rules and hooks.
type domainMetrics struct {
	calls, retries, refusals   *prometheus.CounterVec
	durations, queueWaits      *prometheus.HistogramVec
	steps, tokens, cost        *prometheus.CounterVec
	stepTimes, runTimes        *prometheus.HistogramVec
	started, ended, failures   *prometheus.CounterVec
	limits                     *prometheus.CounterVec
	requested, decided         *prometheus.CounterVec
	asked                      prometheus.Counter
	answered, hooks, decisions *prometheus.CounterVec
	batched, slow              *prometheus.CounterVec
}

// callBuckets range from a local function to a call of an hour, runBuckets to a run of a day.
// Seconds.
var (
	callBuckets = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800, 3600}
	runBuckets  = []float64{.05, .1, .5, 1, 5, 10, 30, 60, 300, 1800, 3600, 14400, 86400}
)

// registrar creates and registers metrics.
type registrar struct{ prometheus.Registerer }

func (r registrar) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: "switchyard_" + name, Help: help}, labels)
	r.MustRegister(c)
	return c
}

func (r registrar) histogram(name, help string, buckets []float64,
	labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "switchyard_" + name,
		Help: help, Buckets: buckets}, labels)
	r.MustRegister(h)
	return h
}

func newDomainMetrics(r prometheus.Registerer) *domainMetrics {
	counter, histogram := registrar{r}.counter, registrar{r}.histogram
	m := &domainMetrics{
		started: counter("runs_started_total", "Runs that have started.", "kind",
			"agent"),
		ended: counter("runs_ended_total", "Runs that have ended.", "kind",
			"agent", "outcome"),
		failures: counter("run_failures_total", "Runs that have failed.", "kind",
			"type"),
		limits: counter("limits_reached_total", "Limits that runs reached; action is ended or "+
			"asked (a person was asked for more).", "limit", "action"),
		runTimes: histogram("run_duration_seconds", "Durations of runs, including waits for "+
			"people.", runBuckets, "kind"),

		calls: counter("calls_total", "Attempts that ended on this worker and calls that it "+
			"rejected, by outcome.",
			"tool", "lane", "outcome"),
		retries: counter("call_retries_total",
			"Attempts after the first that ended on this worker.", "tool", "lane"),
		refusals: counter("call_refusals_total", "Calls rejected before they ran.", "tool", "type"),
		batched: counter("calls_batched_total", "Calls that ran in a batch with others of "+
			"their turn.",
			"tool"),
		slow: counter("slow_calls_total", "Completed calls that took longer than slow_after "+
			"of their tool. Each is also logged.", "tool", "lane"),
		durations: histogram("call_duration_seconds", "Durations of attempts at tool calls.",
			callBuckets, "tool", "lane"),
		queueWaits: histogram("call_queue_seconds",
			"Time before the first attempt: wait for a worker of the lane, and for a slot.",
			callBuckets, "lane"),

		steps: counter("model_steps_total", "Attempts at model steps. The model of a failed "+
			"one is not known.", "model", "outcome"),
		stepTimes: histogram("model_step_duration_seconds", "Durations of attempts at model "+
			"steps.",
			callBuckets, "model"),
		tokens: counter("tokens_total", "Tokens. kind is input, output, cached and written "+
			"(parts of the input), and result (of tools).", "kind", "model"),
		cost: counter("cost_dollars_total", "Cost of model steps in US dollars.", "model"),

		requested: counter("approvals_requested_total", "Calls that needed a person's "+
			"approval.",
			"tool"),
		decided: counter("approvals_decided_total",
			"Decisions on approvals: approve, deny, edit, timeout, and refused for rejected "+
				"ones.", "decision"),
		answered: counter("questions_answered_total",
			"Replies to questions: answered, declined, or refused because they did not fit.",
			"outcome"),
		hooks: counter("hooks_total", "Executed hooks of runs; hooks of calls are a part of "+
			"the call.", "hook", "outcome"),
		decisions: counter("policy_decisions_total", "Policy rules that matched calls.",
			"rule", "effect"),
	}
	m.asked = prometheus.NewCounter(prometheus.CounterOpts{Name: "switchyard_questions_asked_total",
		Help: "Questions that calls asked."})
	r.MustRegister(m.asked, panicCounter{})
	m.begin()
	return m
}

// panicCounter exports how many panics the process has recovered.
type panicCounter struct{}

var panicsTotal = prometheus.NewDesc("switchyard_panics_total",
	"Panics that ended one call, step or connection. place is tool, model, hook, admission, "+
		"instance, activity or mcp.", []string{"place"}, nil)

// Describe implements prometheus.Collector.
func (panicCounter) Describe(to chan<- *prometheus.Desc) { to <- panicsTotal }

// Collect implements prometheus.Collector.
func (panicCounter) Collect(to chan<- prometheus.Metric) {
	counts := panics.Counts()
	for _, place := range panics.InWorkers {
		to <- prometheus.MustNewConstMetric(panicsTotal, prometheus.CounterValue,
			float64(counts[place]), string(place))
	}
}

// begin initializes counters with known labels to zero: Prometheus does not see an increase from
// absent to one.
func (m *domainMetrics) begin() {
	for _, limit := range []string{"turns", "calls", "tokens", "cost", "wall_time", "conversation",
		"repeats", "principal"} {
		m.limits.WithLabelValues(limit, "ended")
		m.limits.WithLabelValues(limit, "asked")
	}
	for _, decision := range []api.DecisionKind{api.DecisionApprove, api.DecisionDeny,
		api.DecisionEdit, api.DecisionTimeout, "refused"} {
		m.decided.WithLabelValues(string(decision))
	}
	for _, outcome := range []string{"answered", "declined", "refused"} {
		m.answered.WithLabelValues(outcome)
	}
}

// countDecision counts the admission decision on a call.
func (o *observer) countDecision(tool, lane string, v api.AdmissionDecision) {
	for _, p := range v.Policies {
		o.metrics.decisions.WithLabelValues(o.rules.of(p.Rule), string(p.Effect)).Inc()
	}
	if v.Approval != nil {
		o.metrics.requested.WithLabelValues(tool).Inc()
	}
	if v.Batch != "" {
		o.metrics.batched.WithLabelValues(tool).Inc()
	}
	if v.Error != nil {
		o.metrics.calls.WithLabelValues(tool, lane, string(v.Error.Type)).Inc()
		o.metrics.refusals.WithLabelValues(tool, string(v.Error.Type)).Inc()
	}
}

// countFinalized counts a call that no activity executed: a sub-agent's, or one without approval.
func (a *observedActivity) countFinalized(e activityEnd) {
	end, ok := e.result.(api.FinalizedResult)
	if !ok || len(e.args) != 1 {
		return
	}
	request, ok := e.args[0].(api.FinalizeResultRequest)
	if !ok {
		return
	}
	outcome := "completed"
	if end.Error != nil {
		outcome = string(end.Error.Type)
	}
	if end.Error != nil && end.Error.Type == api.ErrApprovalTimeout {
		a.metrics.decided.WithLabelValues(string(api.DecisionTimeout)).Inc()
	}
	a.metrics.calls.WithLabelValues(request.Tool.Name, request.Tool.Lane, outcome).Inc()
	a.slow(e.ctx, e.info, end.Result, request.Tool.Name, request.Tool.Lane, "call_id", request.Call)
	if request.Tool.Dispatch == api.DispatchChildWorkflow {
		a.metrics.durations.WithLabelValues(request.Tool.Name,
			request.Tool.Lane).Observe(request.Took.Std().Seconds())
	}
}

// slow counts and logs a call that took longer than slow_after of its tool. The result may be nil.
func (a *observedActivity) slow(ctx context.Context, info activity.Info, result *api.Result, tool,
	lane string, more ...any) {
	if result == nil || !result.Slow {
		return
	}
	a.metrics.slow.WithLabelValues(tool, lane).Inc()
	took := time.Duration(result.ExecutionMicros) * time.Microsecond
	a.logger.WarnContext(ctx, "slow call: it took longer than slow_after of its tool", append(more,
		"tool", tool, "lane", lane, "workflow_id", info.WorkflowExecution.ID,
		"run_id", info.WorkflowExecution.RunID, "took", took.Round(time.Microsecond))...)
}

// countLimitQuestion counts a run that asks a person to raise a limit.
func (a *observedActivity) countLimitQuestion(e activityEnd) {
	if len(e.args) != 1 || e.err != nil {
		return
	}
	if request, ok := e.args[0].(api.LimitRequest); ok {
		a.metrics.limits.WithLabelValues(request.Limit, "asked").Inc()
	}
}

// stepOutcome names the outcome of an attempt at a model step. rate_limited means that the provider
// asked to wait.
func stepOutcome(err error) string {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case err == nil:
		return "completed"
	case temporal.IsCanceledError(err):
		return "cancelled"
	case ok && app.NextRetryDelay() > 0:
		return "rate_limited"
	case ok && app.Type() == api.ModelOverflow:
		return "overflow"
	}
	return "failed"
}
