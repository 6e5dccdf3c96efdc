package run_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/scripted"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/feature/forks/run"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// catalog has a tool that stores a text, and one that stores up to four at once.
const catalog = `
name: store
version: 1.0.0
description: Stores a text.
parameters: [{name: text, type: string, required: true}]
entry: {type: function}
execution: {access: exclusive, effect: once}
---
name: many
version: 1.0.0
description: Stores texts.
parameters: [{name: texts, type: array, required: true, items: {type: string}}]
entry: {type: function}
execution: {effect: once}
batch: {argument: texts, max: 4}
`

// lab is one run in the SDK's test environment, with real activities except for the model.
type lab struct {
	*testsuite.TestWorkflowEnvironment
	t *testing.T

	mu sync.Mutex
	// executed are the executions of tools: "call id tool texts".
	executed []string
	// answers are those of the model, in order.
	answers []api.Message
}

func newLab(t *testing.T, answers ...api.Message) *lab {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	l := &lab{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t, answers: answers}
	for name, w := range workflows.All(run.New) {
		l.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: name})
	}
	actions := l.activities()
	l.RegisterActivityWithOptions(actions.Pin, activity.RegisterOptions{Name: api.PinActivity})
	l.RegisterActivityWithOptions(actions.Admission.Admit,
		activity.RegisterOptions{Name: api.AdmitActivity})
	l.RegisterActivityWithOptions(actions.FinalizeResult,
		activity.RegisterOptions{Name: api.FinalizeResultActivity})
	l.RegisterActivityWithOptions(l.answer, activity.RegisterOptions{Name: api.ModelActivity})
	l.RegisterDynamicActivity(actions.Tool, activity.DynamicRegisterOptions{})
	return l
}

// activities returns the activities of a worker with the tools of the catalog.
func (l *lab) activities() *activities.Activities {
	l.t.Helper()
	specs, err := toolspecs.Decode("catalog.yaml", []byte(catalog), toolspecs.Options{})
	l.must(err)
	tools, err := toolspecs.NewCatalog(specs)
	l.must(err)
	functions, err := function.New(
		tool.NewFunction("store", func(ctx context.Context, in struct {
			Text string `json:"text"`
		}) (int, error) {
			return l.store(ctx, in.Text), nil
		}),
		tool.NewFunction("many", func(ctx context.Context, in struct {
			Texts []string `json:"texts"`
		}) ([]string, error) {
			l.store(ctx, in.Texts...)
			return in.Texts, nil
		}))
	l.must(err)
	a, err := activities.New(activities.Config{
		Catalog:   func() *toolspecs.Catalog { return tools },
		Lanes:     func() *lanes.Set { return lanes.NewSet() },
		Policies:  func() *policies.Set { return policies.NewSet() },
		Executors: map[string]executor.Executor{toolspecs.KindFunction: functions},
		Client:    struct{ client.Client }{}, // only a model needs it
		Models:    map[api.Provider]models.Model{api.ProviderScripted: scripted.Provider{}},
	})
	l.must(err)
	return a
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// store notes an execution, and returns how many there were.
func (l *lab) store(ctx context.Context, texts ...string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	call, _ := callcontext.From(ctx)
	l.executed = append(l.executed, call.CallID+" "+call.Tool+" "+strings.Join(texts, " "))
	return len(l.executed)
}

// calls returns the executions of tools. Some run at the same time.
func (l *lab) calls() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.executed)
	return l.executed
}

// answer is the model. It numbers its calls as the activity does.
func (l *lab) answer(_ context.Context, r api.ModelRequest) (api.ModelResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.answers[0]
	l.answers = l.answers[1:]
	m.Role = api.RoleAssistant
	for i := range m.Calls {
		m.Calls[i].ID = api.TurnCallID(r.Turn, i+1)
	}
	return api.ModelResponse{Message: m, Stop: api.StopAnswer}, nil
}

// conversation queries the messages of the run.
func (l *lab) conversation() []api.Message {
	l.t.Helper()
	value, err := l.QueryWorkflow(api.ConversationQuery, 0)
	l.must(err)
	var page api.Page
	l.must(value.Get(&page))
	return page.Messages.Value
}

// fork runs a forked run of an agent with both tools, whose state has those parts.
func (l *lab) fork(source forks.Fork, begin api.Beginning, parts [][]byte) {
	l.t.Helper()
	source.Parts = len(parts)
	data, err := json.Marshal(source)
	l.must(err)
	script := api.Pack(api.Script{})
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Beginning: &begin,
		Features: api.Features{forks.InputKey: data},
		Agent: &api.Agent{Name: "tester", Instructions: "Test.", Tools: []string{"store", "many"},
			Model: api.Model{Provider: api.ProviderScripted, Script: &script}}}, parts[0])
}

// result returns the run's result; a failed run fails the test.
func (l *lab) result() (r api.RunResult) {
	l.t.Helper()
	l.must(l.GetWorkflowResult(&r))
	return r
}
