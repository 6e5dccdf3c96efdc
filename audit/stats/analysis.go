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

// Thresholds bound slow and wasteful calls (requirement R5).
type Thresholds struct {
	// Slow is the duration above which a call is slow; default 5s.
	Slow api.Duration `json:"slow"`
	// Waste is the ratio of actual to estimated tokens above which a call is wasteful; default 1.2.
	Waste float64 `json:"waste"`
	// Accuracy is the least ratio of estimated and actual tokens, the smaller to the larger;
	// default 0.8.
	Accuracy float64 `json:"accuracy"`
}

func (t Thresholds) withDefaults() Thresholds {
	return Thresholds{
		Slow:     cmp.Or(t.Slow, api.Duration(5*time.Second)),
		Waste:    cmp.Or(t.Waste, 1.2),
		Accuracy: cmp.Or(t.Accuracy, 0.8),
	}
}

// Report is the result of an Analysis.
type Report struct {
	// Runs counts the runs by their evaluation.
	Runs RunCounts `json:"runs"`
	// Thresholds are those that were applied.
	Thresholds Thresholds `json:"thresholds"`
	// Usage is the usage of all runs, including their sub-agents.
	Usage api.Usage `json:"usage"`
	// TokensPerSuccessfulRun is the number of input and output tokens of all runs divided by the
	// number of successful runs; zero if there is none.
	TokensPerSuccessfulRun float64 `json:"tokens_per_successful_run,omitempty"`
	// Calls are all calls, including those of sub-agents.
	Calls CallStats `json:"calls"`
	// Violations counts the calls that violated a policy, an execution plan, a budget or a hook.
	Violations int `json:"violations"`
	// Errors counts failed and refused calls by the type of their error.
	Errors map[api.ErrorType]int `json:"errors,omitempty"`
	// Tools and Lanes are ordered by their total time, longest first.
	Tools []GroupStats `json:"tools,omitempty"`
	Lanes []GroupStats `json:"lanes,omitempty"`
	// Agents are in the same order. Each has its runs, and its calls in runs of its own and as a
	// sub-agent.
	Agents []AgentStats `json:"agents,omitempty"`
	// Plans and Direct are the same for plans, and for the tools of direct calls.
	Plans  []AgentStats `json:"plans,omitempty"`
	Direct []AgentStats `json:"direct,omitempty"`
	// Sessions are the same for all sessions of a caller, who is the name.
	Sessions []AgentStats `json:"sessions,omitempty"`
	// SlowTools are the tools with slow calls, and WastefulTools those with wasteful or badly
	// estimated calls, most such calls first.
	SlowTools     []string `json:"slow_tools,omitempty"`
	WastefulTools []string `json:"wasteful_tools,omitempty"`
}

// RunCounts counts runs by their evaluation.
type RunCounts struct {
	All int `json:"all"`
	// Successful counts the runs that a person or a checker evaluated as solved, and those without
	// an evaluation that ended well. Solved counts the former only.
	Successful int `json:"successful"`
	Solved     int `json:"solved"`
	Failed     int `json:"failed"`
	Open       int `json:"open"`
	// ByPeople and ByCheckers count the solved and failed runs that a person or a checker
	// evaluated.
	ByPeople   int `json:"by_people,omitempty"`
	ByCheckers int `json:"by_checkers,omitempty"`
	// Mistyped counts direct calls of unknown tools or with wrong arguments. Nothing ran, and they
	// are not part of the other counts.
	Mistyped int `json:"mistyped,omitempty"`
}

func (c *RunCounts) add(o RunCounts) {
	c.All += o.All
	c.Successful += o.Successful
	c.Solved += o.Solved
	c.Failed += o.Failed
	c.Open += o.Open
	c.ByPeople += o.ByPeople
	c.ByCheckers += o.ByCheckers
	c.Mistyped += o.Mistyped
}

// AgentStats are the runs and calls of one agent, of one plan, of the direct calls of one tool, or
// of the sessions of one caller.
type AgentStats struct {
	Name string    `json:"name"`
	Runs RunCounts `json:"runs"`
	// Usage is the usage of these runs. TokensPerSuccessfulRun counts the successful ones among
	// them.
	Usage                  api.Usage `json:"usage"`
	TokensPerSuccessfulRun float64   `json:"tokens_per_successful_run,omitempty"`
	CallStats
}

// Analysis adds up runs and their calls. Its memory grows with the number of tools, lanes, agents
// and models only.
type Analysis struct {
	thresholds   Thresholds
	report       Report
	tools, lanes map[string]*CallStats
	starters     map[starter]*AgentStats
}

// starter is what makes calls: an agent, a plan, the direct calls of a tool, or the sessions of a
// caller.
type starter struct {
	kind history.RunKind
	name string
}

// NewAnalysis returns an empty analysis. Zero thresholds mean the defaults.
func NewAnalysis(t Thresholds) *Analysis {
	return &Analysis{
		thresholds: t.withDefaults(),
		report:     Report{Errors: map[api.ErrorType]int{}},
		tools:      map[string]*CallStats{},
		lanes:      map[string]*CallStats{},
		starters:   map[starter]*AgentStats{},
	}
}

// AddRun counts a run with its evaluation. person is the evaluation of a person; nil if there is
// none. Do not add the runs of sub-agents: their usage is part of that of their callers.
func (a *Analysis) AddRun(s history.Summary, person *api.RunEvaluation) {
	if person == nil && isMistyped(s) {
		a.report.Runs.Mistyped++
		return
	}
	one := RunCounts{All: 1}
	decision, source := audit.Evaluate(s, person)
	switch decision {
	case audit.SolvedYes:
		one.Successful = 1
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
	if one.ByPeople+one.ByCheckers > 0 {
		one.Solved = one.Successful
	}
	a.report.Runs.add(one)
	addUsage(&a.report.Usage, s.Usage)
	made := starter{s.Kind, s.Name}
	if s.Kind == history.RunSession {
		made.name = s.Caller.ID
	}
	of := a.of(made)
	of.Runs.add(one)
	addUsage(&of.Usage, s.Usage)
}

// isMistyped reports whether a run is a direct call that was refused because of its tool's name or
// its arguments.
func isMistyped(s history.Summary) bool {
	if s.Kind != history.RunCall || s.Result == nil || len(s.Result.Failures) != 1 {
		return false
	}
	e := s.Result.Failures[0].Error
	return e != nil && (e.Type == api.ErrToolNotFound || e.Type == api.ErrValidation)
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

// findStarter returns what made a call.
func findStarter(r api.Record) starter {
	switch r.Caller.Type {
	case api.CallerAgent:
		return starter{history.RunAgent, r.Caller.ID}
	case api.CallerPlan:
		return starter{history.RunPlan, r.Caller.ID}
	case api.CallerSession:
		return starter{history.RunSession, r.Caller.ID}
	}
	return starter{history.RunCall, r.Tool}
}

// AddCall counts a call.
func (a *Analysis) AddCall(r api.Record) {
	for _, s := range []*CallStats{
		&a.report.Calls, ensureGroup(a.tools, r.Tool), ensureGroup(a.lanes, r.Lane),
		&a.of(findStarter(r)).CallStats,
	} {
		s.add(r, a.thresholds)
	}
	if r.Error == nil {
		return
	}
	a.report.Errors[r.Error.Type]++
	switch r.Error.Type {
	case api.ErrPolicyViolation,
		api.ErrInvalidExecutionPlan,
		api.ErrBudgetExceeded,
		api.ErrBlockedByHook:
		a.report.Violations++
	}
}

// Runs returns the counts of the runs so far.
func (a *Analysis) Runs() RunCounts { return a.report.Runs }

// HasCall reports whether the analysis has a call of a tool.
func (a *Analysis) HasCall(tool string) bool { return a.tools[tool] != nil }

// Report returns the result so far.
func (a *Analysis) Report() Report {
	r := a.report
	r.Thresholds = a.thresholds
	r.TokensPerSuccessfulRun = tokensPerSuccessful(r.Usage, r.Runs)
	r.Errors = maps.Clone(r.Errors)
	r.Calls, r.Tools, r.Lanes = r.Calls.done(), groups(a.tools), groups(a.lanes)
	r.Agents, r.Plans = a.made(history.RunAgent), a.made(history.RunPlan)
	r.Direct, r.Sessions = a.made(history.RunCall), a.made(history.RunSession)
	r.SlowTools = worst(r.Tools, func(s CallStats) int { return s.Slow })
	r.WastefulTools = worst(r.Tools, func(s CallStats) int { return s.Wasteful + s.Inaccurate })
	return r
}

// made returns the statistics of all starters of a kind, those with the longest total time first.
func (a *Analysis) made(kind history.RunKind) (list []AgentStats) {
	for of, s := range a.starters {
		if of.kind == kind {
			done := *s
			done.CallStats = s.done()
			done.TokensPerSuccessfulRun = tokensPerSuccessful(s.Usage, s.Runs)
			list = append(list, done)
		}
	}
	slices.SortFunc(list, func(x, y AgentStats) int {
		return cmp.Or(cmp.Compare(y.total, x.total), cmp.Compare(x.Name, y.Name))
	})
	return list
}

func tokensPerSuccessful(u api.Usage, runs RunCounts) float64 {
	if runs.Successful == 0 {
		return 0
	}
	return float64(u.InputTokens+u.OutputTokens) / float64(runs.Successful)
}

// AddTree reads a run and the runs of its sub-agents, each history once, adds their calls,
// and returns the summary of the run. It does not count the run: call AddRun for that.
// Parameters and errors are those of audit.Events. It skips sub-agents whose histories the server
// has deleted.
func (a *Analysis) AddTree(ctx context.Context, c client.Client,
	workflowID, runID string) (history.Summary, error) {
	var children []api.ChildRun
	summary, running, err := audit.Read(ctx, c, workflowID, runID, func(e api.Event) {
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
	for _, r := range running {
		a.AddCall(r)
	}
	for _, child := range children {
		if _, err := a.AddTree(ctx, c, child.WorkflowID, child.RunID); err != nil &&
			!errors.Is(err, audit.ErrNotFound) {
			return history.Summary{}, err
		}
	}
	return summary, nil
}

// Add adds the result of another analysis with the same thresholds.
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
		ensureGroup(a.tools, name).merge(*s)
	}
	for name, s := range other.lanes {
		ensureGroup(a.lanes, name).merge(*s)
	}
	for of, s := range other.starters {
		own := a.of(of)
		own.Runs.add(s.Runs)
		addUsage(&own.Usage, s.Usage)
		own.merge(s.CallStats)
	}
}
