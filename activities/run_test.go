package activities

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/conversation"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/agent"
	"github.com/switchyard/switchyard/activities/executor/human"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/scripted"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// bench is one process's activities, their run, and their tools.
type bench struct {
	*Activities
	run *queriedRun
}

var (
	spec      = activitytest.Spec
	catalogOf = activitytest.Catalog
	toolsOf   = activitytest.Tools
	within    = activitytest.Within
	callError = activitytest.CallError
)

type (
	queriedRun = activitytest.Run
	answerFunc = activitytest.Executor
)

// setUp returns a process with a catalog; change completes its configuration.
func setUp(t testing.TB, catalog *toolspecs.Catalog, change func(*Config)) *bench {
	t.Helper()
	run := &queriedRun{}
	c := Config{Catalog: func() *toolspecs.Catalog { return catalog }, Client: run,
		Models: map[api.Provider]models.Model{api.ProviderScripted: scripted.Provider{}}}
	if change != nil {
		change(&c)
	}
	executors := map[string]executor.Executor{toolspecs.KindAgent: agent.Executor{},
		toolspecs.KindHuman: human.Executor{}}
	maps.Copy(executors, c.Executors)
	c.Executors = executors
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{Activities: a, run: run}
}

// remembers reports whether the process has cached a message of a run and need not query the run
// for it.
func (b *bench) remembers(t testing.TB, run string, m api.Message) bool {
	t.Helper()
	asked := b.run.Queries.Load()
	_, err := b.Conversations.Messages(activitytest.Context(t),
		api.ModelRequest{Run: run, New: []string{m.Digest()}})
	return err == nil && b.run.Queries.Load() == asked
}

// forget empties the process's cache.
func (b *bench) forget() {
	b.Conversations = conversation.New(conversation.Config{Client: b.config.Client, CacheRuns: 10})
}

// A process without a catalog or a client does not start; the error names the field.
func TestNew_RefusesIncompleteConfigurations(t *testing.T) {
	catalog := func() *toolspecs.Catalog { return nil }
	for want, c := range map[string]Config{"activities: Config.Catalog is nil; give a function that returns the tools": {Client: &queriedRun{}},
		"activities: Config.Client is nil; runs could not be asked for their conversation": {Catalog: catalog}} {
		if _, err := New(c); err == nil || err.Error() != want {
			t.Errorf("got %v; want an error that names %s", err, want)
		}
	}
}

// A run that cannot be queried for its setup fails the step with the query's name.
func TestSetup_FailuresAreRetried(t *testing.T) {
	b := setUp(t, catalogOf(t), nil)
	b.run.Failure = errors.New("gone")
	_, err := within(t, api.ModelActivity, nil, func(ctx context.Context,
		_ converter.EncodedValues) (any, error) {
		return b.ModelStep(ctx, api.ModelRequest{Run: "r", Turn: 1})
	})
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || app.Type() != modelUnavailable || app.NonRetryable() ||
		app.Message() != "ask the run for "+api.SetupQuery+": gone" {
		t.Fatalf("got %v", err)
	}
}

const second = api.Duration(time.Second)
