// Package admission decides which calls run: it checks tools, arguments and budgets, runs the hooks
// before calls, applies policies, and chooses lanes and batches.
package admission

import (
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/hooks"
	"github.com/switchyard/switchyard/activities/results"
	"github.com/switchyard/switchyard/activities/specs"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// Config configures an Admitter. All fields except Hooks are required.
type Config struct {
	// Catalog returns the current tools, from which errors for unknown tools suggest names.
	Catalog func() *toolspecs.Catalog
	// Specs caches compiled toolspecs.
	Specs *specs.Cache
	// Executors execute calls, by kind of tool. Those that are an executor.DecisionPreparer
	// complete the decisions on calls of their kind.
	Executors map[string]executor.Executor
	// Lanes returns the currently configured lanes.
	Lanes func() *lanes.Set
	// Policies returns the currently configured rules for the calls of all runs.
	Policies func() *policies.Set
	// Hooks are the hooks that agents may name; may be nil.
	Hooks *hooks.Registry
	// Results makes results of the answers that hooks give in place of tools.
	Results *results.Processor
	// Ledgers count calls for rules about time.
	Ledgers Ledgers
	// Notify reports that a webhook is notified of calls that wait for approval.
	Notify bool
}

// Admitter makes admission decisions in one process.
type Admitter struct {
	config Config
	rules  rulesOfRuns
}

// New returns an admitter.
func New(c Config) *Admitter { return &Admitter{config: c} }
