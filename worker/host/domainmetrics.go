package host

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
)

// domainMetrics are Switchyard's own, as far as this process sees what happens; docs/metrics.md lists them. Label values are
// bounded: tools of pinned catalogs, lanes, the closed set of errors, the first models, agents, rules and hooks that there were.
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
	batched                    *prometheus.CounterVec
}

// callBuckets reach from a local function to a call that takes an hour, runBuckets to a run that takes a day.
var (
	callBuckets = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800, 3600}
	runBuckets  = []float64{.05, .1, .5, 1, 5, 10, 30, 60, 300, 1800, 3600, 14400, 86400}
)

func newDomainMetrics(r prometheus.Registerer) *domainMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "switchyard_" + name, Help: help}, labels)
		r.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "switchyard_" + name, Help: help, Buckets: buckets}, labels)
		r.MustRegister(h)
		return h
	}
	m := &domainMetrics{
		started:  counter("runs_started_total", "Runs that began, by kind and agent.", "kind", "agent"),
		ended:    counter("runs_ended_total", "Runs that ended, by kind, agent and outcome.", "kind", "agent", "outcome"),
		failures: counter("run_failures_total", "Runs that failed, by kind and the type of the failure.", "kind", "type"),
		limits:   counter("limits_reached_total", "Limits that runs reached, and what came then: the run ended, or a person was asked for more.", "limit", "action"),
		runTimes: histogram("run_duration_seconds", "How long runs took, what they waited for people among it.", runBuckets, "kind"),

		calls: counter("calls_total", "Attempts at tool calls that ended on this worker, and calls it refused, by outcome: completed or an error type.",
			"tool", "lane", "outcome"),
		retries:    counter("call_retries_total", "Attempts at tool calls after the first one that ended on this worker.", "tool", "lane"),
		refusals:   counter("call_refusals_total", "Calls that were refused before they ran, by the type of the error.", "tool", "type"),
		batched:    counter("calls_batched_total", "Calls that were made together with others of their turn.", "tool"),
		durations:  histogram("call_duration_seconds", "How long attempts at tool calls ran.", callBuckets, "tool", "lane"),
		queueWaits: histogram("call_queue_seconds", "How long tool calls waited for a worker of their lane, and with the holder of its slots, before the first attempt.", callBuckets, "lane"),

		steps:     counter("model_steps_total", "Attempts at model steps, by model and outcome; of a failed one the model is not known.", "model", "outcome"),
		stepTimes: histogram("model_step_duration_seconds", "How long attempts at model steps ran.", callBuckets, "model"),
		tokens:    counter("tokens_total", "Tokens by kind: input and output as the model's provider counts them, cached and written as parts of the input, result as tools returned them.", "kind", "model"),
		cost:      counter("cost_dollars_total", "What model steps cost, in US dollars.", "model"),

		requested: counter("approvals_requested_total", "Calls that had to wait for a person's approval.", "tool"),
		decided:   counter("approvals_decided_total", "Decisions on approvals: approve, deny, edit; refused ones did not count, timeout is nobody's.", "decision"),
		answered:  counter("questions_answered_total", "Replies to questions: answered, declined, or refused because they did not fit.", "outcome"),
		hooks:     counter("hooks_total", "Hooks of runs that ran, by how they ended. Those of calls are part of the call.", "hook", "outcome"),
		decisions: counter("policy_verdicts_total", "Policy rules that calls met, by what the rule did.", "rule", "effect"),
	}
	m.asked = prometheus.NewCounter(prometheus.CounterOpts{Name: "switchyard_questions_asked_total", Help: "Questions that calls asked people."})
	r.MustRegister(m.asked)
	m.begin()
	return m
}

// begin has the counters whose labels are known begin at zero: what counts from nothing to one has not increased, for Prometheus.
func (m *domainMetrics) begin() {
	for _, limit := range []string{"turns", "calls", "tokens", "cost", "wall_time", "conversation", "repeats"} {
		m.limits.WithLabelValues(limit, "ended")
		m.limits.WithLabelValues(limit, "asked")
	}
	for _, decision := range []api.DecisionKind{api.DecisionApprove, api.DecisionDeny, api.DecisionEdit, api.DecisionTimeout, "refused"} {
		m.decided.WithLabelValues(string(decision))
	}
	for _, outcome := range []string{"answered", "declined", "refused"} {
		m.answered.WithLabelValues(outcome)
	}
}

// judged counts a verdict on a call.
func (o *observer) evaluated(tool, lane string, v api.AdmissionDecision) {
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

// settled counts a call that no activity executed: one of a sub-agent, or one that nobody approved.
func (a *observedActivity) finalized(e activityEnd) {
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
	if request.Tool.Kind == api.KindAgent {
		a.metrics.durations.WithLabelValues(request.Tool.Name, request.Tool.Lane).Observe(request.Took.Std().Seconds())
	}
}

// askedMore counts a run that asks a person for more of a limit.
func (a *observedActivity) askedMore(e activityEnd) {
	if len(e.args) != 1 || e.err != nil {
		return
	}
	if request, ok := e.args[0].(api.LimitRequest); ok {
		a.metrics.limits.WithLabelValues(request.Limit, "asked").Inc()
	}
}

// stepOutcome names how an attempt at a model step ended. rate_limited is one after which the provider asked to wait.
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
