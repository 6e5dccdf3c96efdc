package admission

import (
	"maps"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/agent"
	"github.com/switchyard/switchyard/activities/executor/human"
	"github.com/switchyard/switchyard/activities/hooks"
	"github.com/switchyard/switchyard/activities/results"
	"github.com/switchyard/switchyard/activities/specs"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

var (
	spec      = activitytest.Spec
	catalogOf = activitytest.Catalog
	toolsOf   = activitytest.Tools
)

// bench is the admission of one process.
type bench struct{ *Admitter }

// setUp returns an admitter with a catalog; change completes its configuration.
func setUp(t testing.TB, catalog *toolspecs.Catalog, change func(*Config)) *bench {
	t.Helper()
	c := Config{Specs: specs.New(),
		Catalog:  func() *toolspecs.Catalog { return catalog },
		Lanes:    func() *lanes.Set { return lanes.NewSet() },
		Policies: func() *policies.Set { return nil }}
	if change != nil {
		change(&c)
	}
	executors := map[string]executor.Executor{toolspecs.KindAgent: agent.Executor{},
		toolspecs.KindHuman: human.Executor{}}
	maps.Copy(executors, c.Executors)
	c.Executors, c.Results = executors, results.New(results.Config{Hooks: c.Hooks})
	return &bench{New(c)}
}

// hooksOf registers hooks.
func hooksOf(t testing.TB, list ...tool.Hook) *hooks.Registry {
	t.Helper()
	registered, err := hooks.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	return registered
}
