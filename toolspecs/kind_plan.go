package toolspecs

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/planrules"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs/plans"
)

// planKind is the kind of tools that run a plan.
type planKind struct{}

func (planKind) setDefaults(s *Spec) { setChildDefaults(s) }

// setChildDefaults fills in the defaults of kinds whose calls are runs.
func setChildDefaults(s *Spec) {
	e := &s.Execution
	e.Timeout = cmp.Or(e.Timeout, defaultAgentTimeout)
	e.SlowAfter = cmp.Or(e.SlowAfter, defaultAgentSlowAfter)
	e.Retry.MaxAttempts = cmp.Or(e.Retry.MaxAttempts, 1)
}

func (planKind) dispatch(Entry) api.Dispatch { return api.DispatchChildWorkflow }

// check implements kind. Sensitive arguments are rejected because the run shows its plan.
func (planKind) check(c *checker, s Spec) {
	p := s.Entry.Plan
	if p == nil {
		c.Add("$.entry.plan", "write plan: and the path of a plan file", "a plan tool needs a plan")
		return
	}
	if s.Entry.PlanFile == "" { // else reported in the file
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
func (planKind) readFiles(e *Entry, doc *strictyaml.Document, file string, o Options) Faults {
	if e.PlanFile == "" {
		return nil
	}
	data, ok := o.beside(&e.PlanFile, doc, "$.entry.plan", "a plan", file)
	if !ok {
		return nil
	}
	var err error
	if e.Plan, err = plans.Decode(e.PlanFile, data, nil); err != nil {
		doc.Report("$.entry.plan", "the plan file has faults", "correct them there")
		return strictyaml.AsFaults(e.PlanFile, err)
	}
	return nil
}

// PlanOf returns the plan of a call of a plan tool with these validated arguments. An error is a
// validation_error.
func (c *Compiled) PlanOf(args json.RawMessage) (api.Plan, error) {
	return planrules.Fill(*c.Spec.Entry.Plan, args)
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
