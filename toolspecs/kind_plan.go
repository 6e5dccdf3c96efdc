package toolspecs

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/planrules"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs/plans"
)

// KindPlan is a plan, whose calls run in a run of their own.
const KindPlan = "plan"

// PlanEntry is the entry of tools that run a plan.
type PlanEntry struct {
	// Plan is the plan that runs, which was read from PlanFile.
	Plan *api.Plan `json:"plan,omitempty" yaml:"-"`
	// PlanFile is the path of the plan file, relative to the toolspec. Strings in the arguments of
	// its calls and in its output can have placeholders {{args.name}}.
	PlanFile string `json:"-" yaml:"plan"`
}

// Name implements Kind.
func (PlanEntry) Name() string { return KindPlan }

// Common implements Kind.
func (e PlanEntry) Common() Common { return Common{Plan: e.Plan} }

func (e PlanEntry) withDefaults(s *Spec) Kind {
	setChildDefaults(s)
	return e
}

const (
	// defaultChildTimeout is the timeout of a call that is a run, which takes many turns.
	defaultChildTimeout   = api.Duration(time.Hour)
	defaultChildSlowAfter = api.Duration(10 * time.Minute)
)

// setChildDefaults fills in the defaults of kinds whose calls are runs.
func setChildDefaults(s *Spec) {
	e := &s.Execution
	e.Timeout = cmp.Or(e.Timeout, defaultChildTimeout)
	e.SlowAfter = cmp.Or(e.SlowAfter, defaultChildSlowAfter)
	e.Retry.MaxAttempts = cmp.Or(e.Retry.MaxAttempts, 1)
}

func (PlanEntry) dispatch() api.Dispatch { return api.DispatchChildWorkflow }

// check implements Kind. Sensitive arguments are rejected because the run shows its plan.
func (e PlanEntry) check(c *checker, s Spec) {
	p := e.Plan
	if p == nil {
		c.Add("$.entry.plan", "write plan: and the path of a plan file", "a plan tool needs a plan")
		return
	}
	if e.PlanFile == "" { // else reported in the file
		for _, problem := range planrules.Check(*p) {
			c.Add("$.entry.plan", "", "%s: %s", problem.Path, problem.Message)
		}
	}
	declared := s.argumentNames()
	planrules.Strings(*p, func(path, text string) {
		in := checker{}
		in.placeholders(path, text, declared, false)
		for _, f := range in.All {
			c.Add("$.entry.plan", f.Hint, "%s of the plan: %s", strings.TrimPrefix(path, "$."),
				f.Message)
		}
	})
	c.childRun(s, "a plan's run", "the tools that the plan calls",
		"its calls are tried again by their own policies")
	c.notShown(s, "arguments of a plan tool cannot be sensitive: they are shown in its run's plan",
		"give the secret to a tool that the plan calls")
}

// childRun rejects what needs an activity that executes the call. run names the run of the call,
// tools the tools that it calls, and again says what repeats instead.
func (c *checker) childRun(s Spec, run, tools, again string) {
	if s.Execution.Retry.MaxAttempts > 1 {
		c.Add("$.execution.retry.max_attempts", "remove it; "+again,
			"%s has one attempt, not %d", run, s.Execution.Retry.MaxAttempts)
	}
	if s.Execution.QueueTimeout > 0 {
		c.AddKey("$.execution.queue_timeout", "write timeout, which bounds the whole of it",
			"%s is not queued", run)
	}
	if len(s.Requires.Dependencies) > 0 {
		c.AddKey("$.requires.dependencies", "give them to "+tools,
			"the dependencies of %s are not checked", run)
	}
}

// readFiles implements fileReader: it reads the plan file that an entry names, relative to the
// toolspec's file. The returned faults are those of the plan file.
func (e PlanEntry) readFiles(doc *strictyaml.Document, file string, o Options) (Kind, Faults) {
	if e.PlanFile == "" {
		return e, nil
	}
	data, ok := o.beside(&e.PlanFile, doc, "$.entry.plan", "a plan", file)
	if !ok {
		return e, nil
	}
	var err error
	if e.Plan, err = plans.Decode(e.PlanFile, data, nil); err != nil {
		doc.Report("$.entry.plan", "the plan file has faults", "correct them there")
		return e, strictyaml.AsFaults(e.PlanFile, err)
	}
	return e, nil
}

// FillPlan returns the plan of a call of a plan tool with these validated arguments. An error is a
// validation_error.
func (c *Compiled) FillPlan(args json.RawMessage) (api.Plan, error) {
	return planrules.Fill(*c.Spec.plan(), args)
}

// planTools returns the names of the tools that a plan calls, each once, in order.
func planTools(p *api.Plan) (names []string) {
	for _, c := range p.Calls {
		if !slices.Contains(names, c.Tool) {
			names = append(names, c.Tool)
		}
	}
	return names
}
