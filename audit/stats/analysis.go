package stats

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// Thresholds say from where on a call is slow and its tokens are wasted (requirement R5).
type Thresholds struct {
	// Slow is the duration of a slow call; default 5s.
	Slow api.Duration `json:"slow"`
	// Waste is how many times the estimated tokens a call may take; default 1.2.
	Waste float64 `json:"waste"`
	// Accuracy is the least ratio of the estimated and the actual tokens, the smaller to the larger; default 0.8.
	Accuracy float64 `json:"accuracy"`
}

func (t Thresholds) withDefaults() Thresholds {
	return Thresholds{Slow: cmp.Or(t.Slow, api.Duration(5*time.Second)), Waste: cmp.Or(t.Waste, 1.2), Accuracy: cmp.Or(t.Accuracy, 0.8)}
}

// Report is what an Analysis found.
type Report struct {
	Runs RunCounts `json:"runs"`
	// Thresholds are those by which calls were judged.
	Thresholds Thresholds `json:"thresholds"`
	// Usage is that of all runs, their sub-agents' among it.
	Usage api.Usage `json:"usage"`
	// TPST is tokens per solved task: the input and output tokens of all runs over the runs that were solved. Zero where none
	// was.
	TokensPerSolvedRun float64 `json:"tokens_per_solved_run,omitempty"`
	// Calls are all calls, those of sub-agents among them.
	Calls CallStats `json:"calls"`
	// Violations counts the calls that broke a rule: a policy, an execution plan, a budget, a hook.
	Violations int `json:"violations"`
	// Errors counts the calls that failed or were refused by the type of their error.
	Errors map[api.ErrorType]int `json:"errors,omitempty"`
	// Tools and Lanes are in order of the time they took in all, the longest first.
	Tools []GroupStats `json:"tools,omitempty"`
	Lanes []GroupStats `json:"lanes,omitempty"`
	// Agents are in the same order, each with the runs that were added of it and the calls that it made, in runs of its own or as a sub-agent.
	Agents []AgentStats `json:"agents,omitempty"`
	// Plans and Direct are the same of plans, and of the tools of direct calls.
	Plans  []AgentStats `json:"plans,omitempty"`
	Direct []AgentStats `json:"direct,omitempty"`
	// Models tell how well our own count of whole model requests meets the providers'.
	Models []ModelStats `json:"models,omitempty"`
	// SlowTools are the names of the tools of which calls were slow, WastefulTools of those of which calls took more tokens
	// than they were to, or were estimated too badly, the most such calls first.
	SlowTools     []string `json:"slow_tools,omitempty"`
	WastefulTools []string `json:"wasteful_tools,omitempty"`
}

// RunCounts count runs by the verdict on them.
type RunCounts struct {
	All    int `json:"all"`
	Solved int `json:"solved"`
	Failed int `json:"failed"`
	Open   int `json:"open"`
	// ByPeople and ByCheckers are those of the solved and failed ones on which a person or a checker gave the verdict, and not
	// the run's end.
	ByPeople   int `json:"by_people,omitempty"`
	ByCheckers int `json:"by_checkers,omitempty"`
}

func (c *RunCounts) add(o RunCounts) {
	c.All += o.All
	c.Solved += o.Solved
	c.Failed += o.Failed
	c.Open += o.Open
	c.ByPeople += o.ByPeople
	c.ByCheckers += o.ByCheckers
}

// AgentStats tell of the runs and calls of one agent, of one plan, or of the direct calls of one tool.
type AgentStats struct {
	Name string    `json:"name"`
	Runs RunCounts `json:"runs"`
	// Usage is that of these runs, TPST their tokens over those of them that were solved.
	Usage              api.Usage `json:"usage"`
	TokensPerSolvedRun float64   `json:"tokens_per_solved_run,omitempty"`
	CallStats
}

// Analysis adds up runs and their calls, in memory that grows with the number of tools, lanes and agents alone.
type Analysis struct {
	thresholds   Thresholds
	report       Report
	tools, lanes map[string]*CallStats
	starters     map[starter]*AgentStats
	steps        map[agentModel]*StepStats
}

// starter is what makes calls: an agent, a plan, or the direct calls of a tool.
type starter struct {
	kind history.RunKind
	name string
}

// NewAnalysis returns an empty analysis. Zero thresholds are the defaults.
func NewAnalysis(t Thresholds) *Analysis {
	return &Analysis{thresholds: t.withDefaults(), report: Report{Errors: map[api.ErrorType]int{}}, tools: map[string]*CallStats{}, lanes: map[string]*CallStats{},
		starters: map[starter]*AgentStats{}, steps: map[agentModel]*StepStats{}}
}

// AddRun counts a run, with the verdict on it; person is a person's, nil where nobody gave one. Runs of sub-agents are not to
// be added: what they used is part of their callers' usage.
func (a *Analysis) AddRun(s history.Summary, person *api.RunEvaluation) {
	one := RunCounts{All: 1}
	decision, source := audit.Evaluate(s, person)
	switch decision {
	case audit.SolvedYes:
		one.Solved = 1
	case audit.SolvedOpen:
		one.Open = 1
	default:
		one.Failed = 1
	}
	switch source {
	case audit.EvaluatedByPerson:
		one.ByPeople = 1
	case audit.EvaluatedByChecker:
		one.ByCheckers = 1
	}
	a.report.Runs.add(one)
	addUsage(&a.report.Usage, s.Usage)
	of := a.of(starter{s.Kind, s.Name})
	of.Runs.add(one)
	addUsage(&of.Usage, s.Usage)
}

func addUsage(u *api.Usage, o api.Usage) {
	u.Add(o)
	u.Turns += o.Turns
}

func (a *Analysis) of(made starter) *AgentStats {
	s := a.starters[made]
	if s == nil {
		s = &AgentStats{Name: made.name}
		a.starters[made] = s
	}
	return s
}

// starterOf is what made a call.
func starterOf(r api.Record) starter {
	switch r.Caller.Type {
	case api.CallerAgent:
		return starter{history.RunAgent, r.Caller.ID}
	case api.CallerPlan:
		return starter{history.RunPlan, r.Caller.ID}
	}
	return starter{history.RunCall, r.Tool}
}

// AddCall counts a call.
func (a *Analysis) AddCall(r api.Record) {
	for _, s := range []*CallStats{&a.report.Calls, grouped(a.tools, r.Tool), grouped(a.lanes, r.Lane), &a.of(starterOf(r)).CallStats} {
		s.add(r, a.thresholds)
	}
	if r.Error == nil {
		return
	}
	a.report.Errors[r.Error.Type]++
	switch r.Error.Type {
	case api.ErrPolicyViolation, api.ErrInvalidExecutionPlan, api.ErrBudgetExceeded, api.ErrBlockedByHook:
		a.report.Violations++
	}
}

// Called reports whether there is a call of a tool among those that were added.
func (a *Analysis) Called(tool string) bool { return a.tools[tool] != nil }

// Report returns what has been found so far.
func (a *Analysis) Report() Report {
	r := a.report
	r.Thresholds = a.thresholds
	r.TokensPerSolvedRun = tokensPerSolved(r.Usage, r.Runs)
	r.Errors = maps.Clone(r.Errors)
	r.Calls, r.Tools, r.Lanes = r.Calls.done(), groups(a.tools), groups(a.lanes)
	r.Agents, r.Plans, r.Direct = a.made(history.RunAgent), a.made(history.RunPlan), a.made(history.RunCall)
	r.Models = a.models()
	r.SlowTools = worst(r.Tools, func(s CallStats) int { return s.Slow })
	r.WastefulTools = worst(r.Tools, func(s CallStats) int { return s.Wasteful + s.Inaccurate })
	return r
}

// made tells of everything of a kind that made calls, in order of the time that these took.
func (a *Analysis) made(kind history.RunKind) (list []AgentStats) {
	for of, s := range a.starters {
		if of.kind == kind {
			done := *s
			done.CallStats, done.TokensPerSolvedRun = s.done(), tokensPerSolved(s.Usage, s.Runs)
			list = append(list, done)
		}
	}
	slices.SortFunc(list, func(x, y AgentStats) int { return cmp.Or(cmp.Compare(y.total, x.total), cmp.Compare(x.Name, y.Name)) })
	return list
}

func tokensPerSolved(u api.Usage, runs RunCounts) float64 {
	if runs.Solved == 0 {
		return 0
	}
	return float64(u.InputTokens+u.OutputTokens) / float64(runs.Solved)
}

// AddTree reads a run and the runs of its sub-agents, each history once, adds their calls and model
// steps, and returns the summary of the run. It does not count the run: call AddRun for that.
// Parameters and errors are those of audit.Events. It skips sub-agents whose histories the server has
// deleted.
func (a *Analysis) AddTree(ctx context.Context, c client.Client, workflowID, runID string) (history.Summary, error) {
	var children []api.ChildRun
	steps := modelSteps{}
	summary, running, err := audit.Read(ctx, c, workflowID, runID, func(e api.Event) {
		steps.add(e.Step)
		if e.Record == nil {
			return
		}
		a.AddCall(*e.Record)
		if child := e.Record.Child; child != nil && child.RunID != "" {
			children = append(children, *child)
		}
	})
	if err != nil {
		return history.Summary{}, err
	}
	a.addSteps(summary.Name, steps)
	for _, r := range running {
		a.AddCall(r)
	}
	for _, child := range children {
		if _, err := a.AddTree(ctx, c, child.WorkflowID, child.RunID); err != nil && !errors.Is(err, audit.ErrNotFound) {
			return history.Summary{}, err
		}
	}
	return summary, nil
}

// Add adds what another analysis with the same thresholds has found.
func (a *Analysis) Add(other *Analysis) {
	r, o := &a.report, &other.report
	r.Runs.add(o.Runs)
	addUsage(&r.Usage, o.Usage)
	r.Violations += o.Violations
	for t, n := range o.Errors {
		r.Errors[t] += n
	}
	r.Calls.merge(o.Calls)
	for name, s := range other.tools {
		grouped(a.tools, name).merge(*s)
	}
	for name, s := range other.lanes {
		grouped(a.lanes, name).merge(*s)
	}
	for of, s := range other.steps {
		a.step(of).merge(*s)
	}
	for of, s := range other.starters {
		own := a.of(of)
		own.Runs.add(s.Runs)
		addUsage(&own.Usage, s.Usage)
		own.merge(s.CallStats)
	}
}
