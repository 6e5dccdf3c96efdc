package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/activities/executor"
	agentkind "github.com/switchyard/switchyard/activities/executor/agent"
	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/activities/executor/human"
	plankind "github.com/switchyard/switchyard/activities/executor/plan"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/scripted"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// lab is one run in the SDK's test environment, with the real activities and tools that count their
// executions.
type lab struct {
	*testsuite.TestWorkflowEnvironment
	t *testing.T

	mu sync.Mutex
	// executed are the executions of tools: "call id tool", one entry for each attempt.
	executed []string
	// stored is what the tools store and note wrote, in order.
	stored []string
	// founds are the answers of the tool found, in order, an empty one a failure; asked are its
	// arguments.
	founds, asked []string
	// hangs is called when the tool hang runs, calls when any tool runs, admits before calls are
	// admitted.
	hangs  func()
	calls  func(context.Context)
	admits func(context.Context)
	// pinned and decisions change the results of pin and admit, as a worker of another version
	// might.
	pinned    func(*api.Pinned)
	decisions func([]api.AdmissionDecision)
	// silent, if set, reports whether an admission decides nothing, as if its ledger were away.
	silent func(api.AdmissionRequest) bool
	// scheduled are the started activities, with attempts, in order.
	scheduled []scheduled
	// queries counts the queries of activities.
	queries map[string]int
	// lanes are those of the workers. returns, if set, ends an activity of a tool in place of the
	// tool.
	lanes   *lanes.Set
	returns func(activity.Info) error
	// steps, if set, ends an attempt of a model step with an error in place of the model.
	steps func() error
	// rules are those of the workers.
	rules []api.PolicyRule
	// people is set in labs with tools that ask people.
	people *answerers
	// hooks are the registered hooks.
	hooks hookFuncs
	// prompts are the requests to the model of the provider listed; answers are its answers, in
	// order.
	prompts []models.Prompt
	answers []func() (api.ModelResponse, error)
}

type scheduled struct {
	id, tool string
	call     api.Execution
	step     api.ModelRequest
	hook     api.HookRequest
}

// listed is a provider whose answers a test lists in Go.
const listed api.Provider = "listed"

// newLab returns an environment with one process.
func newLab(t *testing.T) *lab { return newLabOf(t, 1) }

// newLabOf returns an environment whose activities are spread over processes: admission and tools
// are in the first, model steps in the last. more are tools beside those of the catalog.
func newLabOf(t *testing.T, processes int, more ...toolspecs.Spec) *lab {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(discard)
	l := &lab{t: t, TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(),
		queries: map[string]int{}, lanes: lanes.NewSet()}
	specs, err := toolspecs.Decode("catalog.yaml", []byte(catalog), toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := toolspecs.NewCatalog(append(specs, more...))
	if err != nil {
		t.Fatal(err)
	}
	var all []*activities.Activities
	hooks := l.registerHooks()
	for range processes {
		a, err := activities.New(activities.Config{
			Catalog:  func() *toolspecs.Catalog { return tools },
			Lanes:    func() *lanes.Set { return l.lanes },
			Hooks:    hooks,
			Policies: func() *policies.Set { return policies.NewSet(l.rules...) },
			Client:   queryClient{lab: l},
			Executors: map[string]executor.Executor{toolspecs.KindFunction: l.functions(),
				toolspecs.KindAgent: agentkind.Executor{}, toolspecs.KindPlan: plankind.Executor{},
				toolspecs.KindHuman: human.Executor{}},
			Models: map[api.Provider]models.Model{api.ProviderScripted: scripted.Provider{},
				listed: l},
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	first, last := all[0], all[len(all)-1]
	for name, run := range workflows.All() {
		l.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: name})
	}
	l.RegisterActivityWithOptions(func(ctx context.Context,
		r api.PinRequest) (api.Packed[api.Pinned], error) {
		pinned, err := first.Pin(ctx, r)
		if l.pinned != nil {
			l.pinned(&pinned.Value)
			pinned = api.Pack(pinned.Value)
		}
		return pinned, err
	}, activity.RegisterOptions{Name: api.PinActivity})
	l.RegisterActivityWithOptions(func(ctx context.Context,
		r api.AdmissionRequest) ([]api.AdmissionDecision, error) {
		if l.admits != nil {
			l.admits(ctx)
		}
		if l.silent != nil && l.silent(r) {
			return nil, nil
		}
		decisions, err := first.Admission.Admit(ctx, r)
		if l.decisions != nil {
			l.decisions(decisions)
		}
		return decisions, err
	}, activity.RegisterOptions{Name: api.AdmitActivity})
	l.RegisterActivityWithOptions(first.Admission.Edit,
		activity.RegisterOptions{Name: api.AdmitEditActivity})
	l.RegisterActivityWithOptions(first.Admission.Limit,
		activity.RegisterOptions{Name: api.DescribeLimitActivity})
	l.RegisterActivityWithOptions(first.FinalizeResult,
		activity.RegisterOptions{Name: api.FinalizeResultActivity})
	l.RegisterActivityWithOptions(first.Reply,
		activity.RegisterOptions{Name: api.CheckReplyActivity})
	l.RegisterActivityWithOptions(last.RunHook, activity.RegisterOptions{Name: api.HookActivity})
	l.RegisterActivityWithOptions(func(ctx context.Context,
		r api.ModelRequest) (api.ModelResponse, error) {
		if l.steps != nil {
			if err := l.steps(); err != nil {
				return api.ModelResponse{}, err
			}
		}
		return last.ModelStep(ctx, r)
	}, activity.RegisterOptions{Name: api.ModelActivity})
	l.RegisterDynamicActivity(func(ctx context.Context, input converter.EncodedValues) (api.Result,
		error) {
		if l.returns != nil {
			if err := l.returns(activity.GetInfo(ctx)); err != nil {
				return api.Result{}, err
			}
		}
		return first.Tool(ctx, input)
	}, activity.DynamicRegisterOptions{})
	l.SetOnActivityStartedListener(l.started)
	l.SetTestTimeout(30 * time.Second)
	l.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: busy})
	return l
}

// busy is the time that one workflow task may take while other tests use the machine; the SDK's
// default is one second.
const busy = 10 * time.Second

// queryClient queries the run of the test environment, which is all that activities need of a
// client.
type queryClient struct {
	client.Client
	lab *lab
}

func (c queryClient) QueryWorkflow(_ context.Context, id, _, query string,
	args ...any) (converter.EncodedValue, error) {
	c.lab.mu.Lock()
	c.lab.queries[query]++
	c.lab.mu.Unlock()
	return c.lab.QueryWorkflowByID(id, query, args...)
}

// RecordActivityHeartbeat passes a heartbeat to the test environment.
func (queryClient) RecordActivityHeartbeat(ctx context.Context, _ []byte, details ...any) error {
	activity.RecordHeartbeat(ctx, details...)
	return nil
}

func (l *lab) started(info *activity.Info, _ context.Context, args converter.EncodedValues) {
	l.people.taken(info)
	s := scheduled{id: info.ActivityID, tool: info.ActivityType.Name}
	var err error
	switch s.tool {
	case api.ModelActivity:
		err = args.Get(&s.step)
	case api.HookActivity:
		err = args.Get(&s.hook)
	case api.NotifyApprovalActivity:
	default:
		err = args.Get(&s.call)
	}
	if err != nil {
		l.t.Errorf("input of %s: %v", s.id, err)
	}
	l.scheduled = append(l.scheduled, s)
}

// functions returns the tools' handlers.
func (l *lab) functions() *function.Executor {
	type text struct {
		Text string `json:"text"`
	}
	type nothing struct{}
	functions, err := function.New(
		tool.RawFunction("echo", func(ctx context.Context,
			args json.RawMessage) (json.RawMessage, error) {
			l.count(ctx)
			var in struct{ Value json.RawMessage }
			err := json.Unmarshal(args, &in)
			return in.Value, err
		}),
		tool.NewFunction("greet", func(ctx context.Context, in struct {
			Name  string `json:"name"`
			Times int    `json:"times"`
		}) (string, error) {
			l.count(ctx)
			return strings.Repeat("hello "+in.Name+" ", in.Times), nil
		}),
		tool.NewFunction("store", func(ctx context.Context, in text) (int, error) {
			l.count(ctx)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.stored = append(l.stored, in.Text)
			return len(l.stored), nil
		}),
		tool.NewFunction("flaky", func(ctx context.Context, _ nothing) (string, error) {
			l.count(ctx)
			if call, _ := callcontext.From(ctx); call.Attempt < 2 {
				return "", api.Transient(errors.New("not yet"), 0)
			}
			return "now", nil
		}),
		tool.NewFunction("broken", func(ctx context.Context, _ nothing) (string, error) {
			l.count(ctx)
			return "", errors.New("it is broken")
		}),
		tool.NewFunction("hang", func(ctx context.Context, _ nothing) (string, error) {
			l.count(ctx)
			if l.hangs != nil {
				l.hangs()
			}
			<-ctx.Done()
			return "", context.Cause(ctx)
		}),
		tool.NewFunction("inquire", l.inquire),
		tool.RawFunction("found", func(ctx context.Context,
			args json.RawMessage) (json.RawMessage, error) {
			l.count(ctx)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.asked = append(l.asked, string(args))
			found := l.founds[0]
			l.founds = l.founds[1:]
			if found == "" {
				return nil, errors.New("it cannot be reached")
			}
			return json.RawMessage(found), nil
		}),
		tool.NewFunction("variables", func(ctx context.Context, _ nothing) (map[string]any,
			error) {
			l.count(ctx)
			call, _ := callcontext.From(ctx)
			return call.Variables, nil
		}),
	)
	if err != nil {
		l.t.Fatal(err)
	}
	return functions
}

func (l *lab) count(ctx context.Context) {
	call, ok := callcontext.From(ctx)
	if !ok {
		l.t.Error("a tool ran without a call context")
	}
	if l.calls != nil {
		l.calls(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.executed = append(l.executed, api.CallPath(call.ParentCall, call.CallID)+" "+call.Tool)
}

// Ready and Answer make the lab the model of the provider listed.
func (l *lab) Ready() error { return nil }

func (l *lab) Answer(_ context.Context, p models.Prompt) (api.ModelResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.Messages = slices.Clone(p.Messages)
	l.prompts = append(l.prompts, p)
	if len(l.answers) == 0 {
		return api.ModelResponse{}, &models.Error{Message: "the test has no answer left",
			Permanent: true}
	}
	answer := l.answers[0]
	l.answers = l.answers[1:]
	return answer()
}

// answer makes the model answer with these messages, in order, each for 10 tokens in and 5 out.
func (l *lab) modelAnswers(messages ...api.Message) {
	for _, m := range messages {
		l.answers = append(l.answers, func() (api.ModelResponse, error) {
			return api.ModelResponse{Message: m, Stop: api.StopAnswer, Model: "listed-1",
				Usage: api.Usage{InputTokens: 10, OutputTokens: 5}}, nil
		})
	}
}

// result returns the run's result; a failed run fails the test.
func (l *lab) result() api.RunResult {
	l.t.Helper()
	if !l.IsWorkflowCompleted() {
		l.t.Fatal("the run did not end")
	}
	var r api.RunResult
	if err := l.GetWorkflowResult(&r); err != nil {
		l.t.Fatalf("the run failed: %v", err)
	}
	return r
}

// failure returns the run's failure, of the given type, and reads its details.
func (l *lab) failure(kind api.RunErrorType, details any) *temporal.ApplicationError {
	l.t.Helper()
	if !l.IsWorkflowCompleted() {
		l.t.Fatal("the run did not end")
	}
	app, ok := errors.AsType[*temporal.ApplicationError](l.GetWorkflowError())
	if !ok || app.Type() != string(kind) || !app.NonRetryable() {
		l.t.Fatalf("the run ended with %v, want a failure of type %s", l.GetWorkflowError(), kind)
	}
	if details != nil {
		if err := app.Details(details); err != nil {
			l.t.Fatal(err)
		}
	}
	return app
}

// cancelled checks that the run ended as cancelled.
func (l *lab) cancelled() {
	l.t.Helper()
	if _, ok := errors.AsType[*temporal.CanceledError](l.GetWorkflowError()); !ok ||
		!l.IsWorkflowCompleted() {
		l.t.Fatalf("the run ended with %v, want it cancelled", l.GetWorkflowError())
	}
}

// ids returns the ids of the started activities.
func (l *lab) ids() []string {
	var ids []string
	for _, s := range l.scheduled {
		ids = append(ids, s.id)
	}
	return ids
}

// conversation queries the run's whole conversation.
func (l *lab) conversation() []api.Message {
	l.t.Helper()
	var messages []api.Message
	for {
		value, err := l.QueryWorkflow(api.ConversationQuery, len(messages))
		if err != nil {
			l.t.Fatal(err)
		}
		var page api.Page
		if err := value.Get(&page); err != nil {
			l.t.Fatal(err)
		}
		messages = append(messages, page.Messages.Value...)
		if len(messages) >= page.Total {
			return messages
		}
	}
}

// agent returns an agent with every tool of the catalog that plays the steps.
func agent(steps ...api.ScriptStep) *api.Agent {
	script := api.Pack(api.Script{Steps: steps, Summary: "as far as I got"})
	return &api.Agent{Name: "tester", Instructions: "Test.",
		Model: api.Model{Provider: api.ProviderScripted, Script: &script},
		Tools: []string{"echo", "greet", "store", "note", "flaky", "broken", "hang", "old",
			"retired", "needy"}}
}

// listedAgent returns an agent whose model's answers the test lists.
func listedAgent() *api.Agent {
	a := agent()
	a.Model = api.Model{Provider: listed, Name: "listed-1", Price: api.Price{Input: 1e6, Output: 2e6}}
	return a
}

func step(calls ...api.ScriptCall) api.ScriptStep {
	return api.ScriptStep{Calls: calls}
}

func answer(text string) api.ScriptStep { return api.ScriptStep{Answer: text} }

func call(tool, arguments string) api.ScriptCall {
	return api.ScriptCall{Tool: tool, ArgumentsText: arguments}
}

// expect compares a list with the expected one.
func expect[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// discard is a logger that discards everything.
var discard = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
