package activities

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/scripted"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
)

// queriedRun is the server as activities see it: one run that answers queries as workflows do, and
// counts them.
type queriedRun struct {
	client.Client
	setup    api.Setup
	messages []api.Message
	// page, if set, answers in place of switchyard.PageOf.
	page    func(from int) api.Page
	failure error
	queries atomic.Int64
}

func (q *queriedRun) QueryWorkflow(_ context.Context, _, _, query string,
	args ...any) (converter.EncodedValue, error) {
	q.queries.Add(1)
	if q.failure != nil {
		return nil, q.failure
	}
	var answer any = q.setup
	if query == api.ConversationQuery {
		from := args[0].(int)
		if q.page == nil {
			answer = api.PageOf(q.messages, from)
		} else {
			answer = q.page(from)
		}
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(answer)
	if err != nil {
		return nil, err
	}
	return client.NewValue(payloads), nil
}

// bench is one process's activities, the run that they work for, and the tools they have.
type bench struct {
	*Activities
	run *queriedRun
}

// spec returns a function tool that takes a required text, after change.
func spec(name string, change func(*toolspecs.Spec)) toolspecs.Spec {
	s := toolspecs.Spec{Name: name, Version: "1.0.0", Description: "Does " + name + ".",
		Parameters: []toolspecs.Parameter{{Name: "text", Type: "string", Required: true}},
		Entry:      toolspecs.Entry{Type: api.KindFunction}}
	s.Execution.Effect = api.EffectRead
	if change != nil {
		change(&s)
	}
	return s
}

func catalogOf(t testing.TB, specs ...toolspecs.Spec) *toolspecs.Catalog {
	t.Helper()
	catalog, err := toolspecs.NewCatalog(specs)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

// setUp makes a process with a catalog; change completes its configuration.
func setUp(t testing.TB, catalog *toolspecs.Catalog, change func(*Config)) *bench {
	t.Helper()
	run := &queriedRun{}
	c := Config{Catalog: func() *toolspecs.Catalog { return catalog }, Client: run,
		Models: map[api.Provider]models.Model{api.ProviderScripted: scripted.Provider{}}}
	if change != nil {
		change(&c)
	}
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{Activities: a, run: run}
}

// within executes f in an activity's context, and gives the name as the activity's type.
func within(t testing.TB, name string, x any, f func(context.Context, converter.EncodedValues) (any,
	error)) (converter.EncodedValue, error) {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.RegisterDynamicActivity(f, activity.DynamicRegisterOptions{})
	return env.ExecuteActivity(name, x)
}

// toolsOf returns the tools of a catalog as a run pins them.
func toolsOf(c *toolspecs.Catalog) []api.Tool {
	var tools []api.Tool
	for _, compiled := range c.All() {
		tools = append(tools, compiled.Tool())
	}
	return tools
}

// answerFunc is an executor made of a function.
type answerFunc func(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error)

func (f answerFunc) Execute(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	return f(ctx, spec, args)
}

// A process without a catalog or a client is refused at its start, with the field's name.
func TestNewRefusesHalfAConfiguration(t *testing.T) {
	catalog := func() *toolspecs.Catalog { return nil }
	for want, c := range map[string]Config{"Config.Catalog": {Client: &queriedRun{}},
		"Config.Client": {Catalog: catalog}} {
		if _, err := New(c); err == nil || !expect.Contains(err.Error(), want) {
			t.Errorf("got %v; want an error that names %s", err, want)
		}
	}
}

// A run that cannot be asked for its setup fails the step, which is tried again, and says what was
// asked.
func TestSetupCannotBeAsked(t *testing.T) {
	b := setUp(t, catalogOf(t), nil)
	b.run.failure = errors.New("gone")
	_, err := within(t, api.ModelActivity, nil, func(ctx context.Context,
		_ converter.EncodedValues) (any, error) {
		return b.ModelStep(ctx, api.ModelRequest{Run: "r", Turn: 1})
	})
	if err == nil || !expect.Contains(err.Error(), api.SetupQuery, "gone") {
		t.Fatalf("got %v", err)
	}
}

const second = api.Duration(time.Second)
