package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/panics"
)

// observer counts and logs the results of activities. It has no influence on runs.
type observer struct {
	interceptor.WorkerInterceptorBase
	metrics *domainMetrics
	counts  *laneCounts
	// models, agents, rules, hooks and failed bound the values of their labels.
	models, agents, rules, hooks, failed *boundedLabels
	logger                               *slog.Logger
	lane                                 string
	// direct are workflows by name that the observer calls itself; see observedRun.
	direct map[string]any
}

func newObserver(r prometheus.Registerer, logger *slog.Logger) *observer {
	return &observer{metrics: newDomainMetrics(r), counts: newLaneCounts(),
		models: newBoundedLabels(), agents: newBoundedLabels(), rules: newBoundedLabels(),
		hooks: newBoundedLabels(), failed: newBoundedLabels(), logger: logger}
}

// boundedLabels returns the first maxLabels values unchanged and "other" for later ones. Providers
// choose the names of models and could return a new one with every answer.
type boundedLabels struct {
	mu    sync.Mutex
	known map[string]bool
}

// maxLabels bounds the values of one label.
const maxLabels = 50

func newBoundedLabels() *boundedLabels { return &boundedLabels{known: map[string]bool{}} }

func (b *boundedLabels) of(value string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known[value] && (len(b.known) >= maxLabels || !utf8.ValidString(value)) {
		return "other"
	}
	b.known[value] = true
	return value
}

// forLane returns an observer for the activities of a lane. The label has no key, because keys are
// unbounded.
func (o *observer) forLane(lane string) *observer {
	of := *o
	of.lane = lane
	return &of
}

// InterceptActivity observes every activity of the lane.
func (o *observer) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &observedActivity{
		ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{
			Next: next}, observer: o}
}

type observedActivity struct {
	interceptor.ActivityInboundInterceptorBase
	*observer
}

func (a *observedActivity) ExecuteActivity(ctx context.Context,
	in *interceptor.ExecuteActivityInput) (any, error) {
	began := time.Now()
	a, info := a.resolveLane(activity.GetInfo(ctx), in.Args)
	ended := a.counts.count(a.lane, info)
	result, err := a.execute(ctx, info.ActivityType.Name, in)
	ended()
	took := time.Since(began)
	if see, own := ofRun[info.ActivityType.Name]; own {
		see(a, activityEnd{ctx: ctx, info: info, args: in.Args, result: result, err: err,
			took: took})
	} else {
		a.countCall(ctx, info, result, err, took)
	}
	return result, err
}

// panicError is the type of the failure by which Temporal's SDK reports an activity that panicked.
const panicError = "PanicError"

// execute runs an activity and makes its panic a failure. The SDK recovers from panics, too, and
// does not count them.
func (a *observedActivity) execute(ctx context.Context, name string,
	in *interceptor.ExecuteActivityInput) (result any, err error) {
	place, named := panicPlaces[name]
	if _, own := ofRun[name]; own && !named {
		place = panics.Activity
	} else if !named {
		place = panics.Tool
	}
	defer place.Contain(ctx, a.logger, func(failed error) {
		err = temporal.NewApplicationError("the activity ended with "+failed.Error(), panicError)
	}, "activity", name)
	return a.Next.ExecuteActivity(ctx, in)
}

// panicPlaces maps activities to where they panic. All others of ofRun are panics.Activity, and
// calls are panics.Tool.
var panicPlaces = map[string]panics.Place{
	api.AdmitActivity:        panics.Admission,
	api.AdmitEditActivity:    panics.Admission,
	api.ModelActivity:        panics.Model,
	api.HookActivity:         panics.Hook,
	api.HostInstanceActivity: panics.Instance,
}

// activityEnd is a finished activity.
type activityEnd struct {
	ctx    context.Context
	info   activity.Info
	args   []any
	result any
	err    error
	took   time.Duration
}

// ofRun maps activities that are not tool calls to what is counted and logged of them.
var ofRun = map[string]func(*observedActivity, activityEnd){
	api.AdmitActivity: func(a *observedActivity,
		e activityEnd) {
		a.countAdmissions(e.args, e.result)
	},
	api.ModelActivity: func(a *observedActivity, e activityEnd) {
		a.countStep(e.ctx, e.info, e.result, e.err, e.took)
		a.countStepAdmissions(e.args, e.result)
	},
	api.HookActivity: func(a *observedActivity, e activityEnd) {
		a.countHook(e.ctx, e.info, e.args, e.err, e.took)
	},
	api.CheckReplyActivity: func(a *observedActivity, e activityEnd) {
		a.countReply(e.ctx, e.info, e.args, e.result, e.err)
	},
	api.FinalizeResultActivity:   (*observedActivity).countFinalized,
	api.DescribeLimitActivity:    (*observedActivity).countLimitQuestion,
	api.PinActivity:              ignoreEnd,
	api.HostInstanceActivity:     ignoreEnd,
	api.CloseInstanceActivity:    ignoreEnd,
	api.JoinInstanceActivity:     ignoreEnd,
	api.FindEndedUsersActivity:   ignoreEnd,
	api.ServeSlotsActivity:       ignoreEnd,
	api.AdmitEditActivity:        ignoreEnd,
	api.NotifyApprovalActivity:   ignoreEnd,
	api.LoadConversationActivity: ignoreEnd,
	api.ReportCatalogActivity:    ignoreEnd,
	api.ReportLanesActivity:      ignoreEnd,
	api.ReadBacklogActivity:      ignoreEnd,
}

func ignoreEnd(*observedActivity, activityEnd) {}

// resolveLane returns the observer of an activity's lane, and its info with the ID of the call or
// model
// step. Inline calls and steps carry their ID in their arguments, because the SDK numbers local
// activities.
func (a *observedActivity) resolveLane(info activity.Info, args []any) (*observedActivity,
	activity.Info) {
	if len(args) != 1 {
		return a, info
	}
	switch in := args[0].(type) {
	case *api.InlineCall:
		info.ActivityID = in.ID
	case api.ModelRequest:
		if in.Inline == nil {
			return a, info
		}
		info.ActivityID = in.Inline.ID
	default:
		return a, info
	}
	return &observedActivity{ActivityInboundInterceptorBase: a.ActivityInboundInterceptorBase,
		observer: a.forLane(api.LaneInline)}, info
}

// countAdmissions counts admission decisions. A tool that the run does not know is counted as "unknown",
// because its name is unbounded.
func (a *observedActivity) countAdmissions(args []any, result any) {
	decisions, ok := result.([]api.AdmissionDecision)
	if !ok || len(args) != 1 {
		return
	}
	request, ok := args[0].(api.AdmissionRequest)
	if !ok || len(request.Calls) != len(decisions) {
		return
	}
	lanes := map[string]string{}
	for _, t := range request.Tools {
		lanes[t.Name] = t.Lane
	}
	for i, v := range decisions {
		tool := request.Calls[i].Tool
		lane, known := lanes[tool]
		if !known {
			tool = "unknown"
		}
		a.countDecision(tool, lane, v)
	}
}

// countStepAdmissions counts the calls that an inline model step rejected.
func (a *observedActivity) countStepAdmissions(args []any, result any) {
	response, ok := result.(api.ModelResponse)
	if !ok || len(args) != 1 || len(response.Decisions) == 0 {
		return
	}
	if step, ok := args[0].(api.ModelRequest); ok && step.Inline != nil &&
		step.Inline.Admit != nil {
		request := *step.Inline.Admit
		request.Calls = response.Message.Calls[:len(response.Decisions)]
		a.countAdmissions([]any{request}, response.Decisions)
	}
}

// countReply counts a human tool's call that a reply completed. Its execution only asked the
// question.
func (a *observedActivity) countReply(ctx context.Context, info activity.Info, args []any,
	result any,
	err error) {
	decision, ok := result.(api.ReplyDecision)
	if err != nil || !ok || len(args) != 1 || decision.Early {
		return
	}
	request, ok := args[0].(api.ReplyRequest)
	if !ok || !request.Complete {
		return
	}
	outcome := "completed"
	if request.Reply.Decline {
		outcome = string(api.ErrApprovalDenied)
	}
	a.metrics.calls.WithLabelValues(request.Tool.Name, request.Tool.Lane, outcome).Inc()
	a.log(ctx, "a person replied", info, outcome, time.Since(request.Question.Asked), nil, "tool",
		request.Tool.Name, "call_id", request.Question.Call,
		"lane", request.Tool.Lane)
}

// countHook counts and logs a hook of a run. Hooks are not calls.
func (a *observedActivity) countHook(ctx context.Context, info activity.Info, args []any, err error,
	took time.Duration) {
	outcome := "completed"
	if err != nil {
		outcome = "failed"
	}
	var request api.HookRequest
	if len(args) == 1 {
		request, _ = args[0].(api.HookRequest)
	}
	a.metrics.hooks.WithLabelValues(a.hooks.of(request.Hook.Name), outcome).Inc()
	a.log(ctx, "hook ended", info, outcome, took, err, "hook", request.Hook.Name, "point",
		request.Point)
}

func (a *observedActivity) countCall(ctx context.Context, info activity.Info, result any, err error,
	took time.Duration) {
	info.ActivityID = api.CallOfActivity(info.ActivityID)
	if errors.Is(err, activity.ErrResultPending) {
		a.metrics.asked.Inc()
		a.log(ctx, "a person is asked", info, "pending", took, nil, "tool", info.ActivityType.Name,
			"call_id", info.ActivityID, "lane", a.lane)
		return
	}
	tool, outcome := info.ActivityType.Name, callOutcome(err)
	hosted := readSlotsWait(result, err)
	wait := info.StartedTime.Sub(info.ScheduledTime) + hosted
	took = max(took-hosted, 0)
	if r, ok := result.(api.Result); ok {
		a.metrics.tokens.WithLabelValues("result", "").Add(float64(r.Tokens))
		a.slow(ctx, info, &r, tool, a.lane, "call_id", info.ActivityID)
	}
	if info.Attempt > 1 {
		a.metrics.retries.WithLabelValues(tool, a.lane).Inc()
	}
	a.metrics.calls.WithLabelValues(tool, a.lane, outcome).Inc()
	// these never ran
	if outcome != string(api.ErrQueueFull) && outcome != string(api.ErrQueueTimeout) {
		a.metrics.durations.WithLabelValues(tool, a.lane).Observe(took.Seconds())
	}
	if info.Attempt == 1 && wait >= 0 {
		a.metrics.queueWaits.WithLabelValues(a.lane).Observe(wait.Seconds())
	}
	a.log(ctx, "call ended", info, outcome, took, err, "tool", tool, "call_id", info.ActivityID,
		"lane", a.lane)
}

// readSlotsWait returns the time that a call waited with the holder of its lane's slots.
func readSlotsWait(result any, err error) time.Duration {
	var failed api.Error
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.HasDetails() &&
		app.Details(&failed) == nil {
		return time.Duration(failed.WaitedMicros) * time.Microsecond
	}
	r, _ := result.(api.Result)
	return time.Duration(r.WaitedMicros) * time.Microsecond
}

func (a *observedActivity) countStep(ctx context.Context, info activity.Info, result any, err error,
	took time.Duration) {
	model, outcome := "", stepOutcome(err)
	if r, ok := result.(api.ModelResponse); ok {
		model = a.models.of(r.Model)
		for kind, n := range map[string]int{"input": r.Usage.InputTokens,
			"output": r.Usage.OutputTokens, "cached": r.Usage.CachedTokens,
			"written": r.Usage.WrittenTokens} {
			a.metrics.tokens.WithLabelValues(kind, model).Add(float64(n))
		}
		a.metrics.cost.WithLabelValues(model).Add(r.Usage.Cost)
	}
	a.metrics.steps.WithLabelValues(model, outcome).Inc()
	a.metrics.stepTimes.WithLabelValues(model).Observe(took.Seconds())
	a.log(ctx, "model step ended", info, outcome, took, err, "step", info.ActivityID, "model",
		model, "lane", a.lane)
}

func (o *observer) log(ctx context.Context, message string, info activity.Info, outcome string,
	took time.Duration, err error, more ...any) {
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelWarn
		more = append(more, "error", err)
	}
	if !o.logger.Enabled(ctx, level) {
		return
	}
	o.logger.Log(ctx, level, message, append(more, "workflow_id", info.WorkflowExecution.ID,
		"run_id", info.WorkflowExecution.RunID,
		"attempt", info.Attempt, "outcome", outcome, "took", took.Round(time.Microsecond))...)
}

// callOutcome returns the outcome of an attempt at a call: completed, or an error type.
func callOutcome(err error) string {
	if err == nil {
		return "completed"
	}
	if temporal.IsCanceledError(err) {
		return string(api.ErrCancelled)
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok &&
		api.ErrorType(app.Type()).Known() {
		return app.Type()
	}
	return string(api.ErrExecution)
}
