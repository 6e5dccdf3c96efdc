package policies

import (
	"encoding/json"
	"math"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Facts are what an expression can name. The tag cel of a field below them is its name in
// expressions, the tag yaml its name in the cases of starter policy test. The tag facts has
// unrecorded if records do not have the value, so that starter policy replay does not judge by it,
// and contents if it may quote what people or tools wrote: failures then do not quote it, and runs
// keep contents for rules that read it. docs/policy-language.md has all names in a table; a test
// holds it against these types.
type Facts struct {
	Tool   Tool
	Caller Caller
	// Principal is who started the run.
	Principal Principal
	Run       Run
	Budget    Budget
	// Plan is the call's execution plan.
	Plan Plan
	// Arguments are the call's, validated: a JSON object.
	Arguments json.RawMessage
	// Labels are those that the run has seen so far.
	Labels []string
	Now    time.Time
	// Calls has the calls of the run so far, by tool.
	Calls []api.PastCalls
	// Earlier are these calls with arguments and results, as far as they are kept, and Statements
	// the texts that the run was given. NoStatements is set if it does not know what people wrote.
	Earlier      []*api.EarlierCall
	Statements   []*api.Statement
	NoStatements bool
	// Unknown is set if budget and sources are unknown. Rules whose result depends on them are
	// skipped.
	Unknown bool
	// Past answers what rules ask about earlier calls; nil if that is not known.
	Past Earlier
}

// Tool is the call's tool.
type Tool struct {
	Name     string   `cel:"name" yaml:"name" rule:"required"`
	Version  string   `cel:"version" yaml:"version"`
	Category string   `cel:"category" yaml:"category"`
	Tags     []string `cel:"tags" yaml:"tags"`
	Lane     string   `cel:"lane" yaml:"lane"`
	// Effect is read, idempotent or once.
	Effect string `cel:"effect" yaml:"effect" rule:"enum=read|idempotent|once"`
	// Effects are the tool's capabilities, Emits the labels of its results.
	Effects []string `cel:"effects" yaml:"effects"`
	Emits   []string `cel:"emits" yaml:"emits"`
}

// Plan is the execution plan that a call carries; all of it but Given is empty where it carries
// none.
type Plan struct {
	// Given is set if the call carries an execution plan.
	Given            bool     `cel:"given"`
	Intent           string   `cel:"intent" yaml:"intent" rule:"required"`
	DryRun           bool     `cel:"dry_run" yaml:"dry_run"`
	Rollback         string   `cel:"rollback" yaml:"rollback"`
	Preconditions    []string `cel:"preconditions" yaml:"preconditions"`
	ExpectedOutcomes []string `cel:"expected_outcomes" yaml:"expected_outcomes"`
}

// NewPlan returns the facts about an execution plan; nil means none.
func NewPlan(p *api.ExecutionPlan) Plan {
	if p == nil {
		return Plan{}
	}
	return Plan{Given: true, Intent: p.Intent, DryRun: p.DryRun, Rollback: p.Rollback,
		Preconditions: p.Preconditions, ExpectedOutcomes: p.ExpectedOutcomes}
}

// Caller is who makes the call.
type Caller struct {
	// Type is agent, plan, session or direct.
	Type string `cel:"type" yaml:"type" rule:"enum=agent|plan|session|direct"`
	ID   string `cel:"id" yaml:"id"`
	// Auth is how the caller of the run was authenticated; empty if a program named itself. Claims
	// are the claims of that identity.
	Auth   string         `cel:"auth" yaml:"auth" rule:"enum=jwt|api_key|loopback"`
	Claims map[string]any `cel:"claims"`
}

// Run is the run that makes the call.
type Run struct {
	ID string `cel:"id" yaml:"id"`
	// Agent is the agent's name; empty in runs of another kind.
	Agent        string `cel:"agent" yaml:"agent"`
	Conversation string `cel:"conversation" yaml:"conversation"`
	// Depth is the number of runs above this one.
	Depth int64 `cel:"depth" yaml:"depth" rule:"min=0"`
	// Turn counts from 1; zero in runs that have no turns.
	Turn int64 `cel:"turn" yaml:"turn" rule:"min=0"`
	// Variables are the names of the run's variables.
	Variables []string `cel:"variables" yaml:"variables" facts:"unrecorded"`
	// Values are their values.
	Values map[string]any `cel:"values" facts:"unrecorded,contents"`
	// Prompt is what the run, or the one at the top, was started with, and Messages the prompt and
	// the messages that people sent since. Both are computed from Facts.Statements.
	Prompt   string   `cel:"prompt" yaml:"prompt" facts:"unrecorded,contents"`
	Messages []string `cel:"messages" yaml:"messages" facts:"unrecorded,contents"`
	// Omitted is the number of earlier calls whose arguments and results are not kept.
	Omitted int64 `cel:"omitted"`
}

// Budget is the used and the remaining budget of the run.
type Budget struct {
	Calls    Count `cel:"calls"`
	Tokens   Count `cel:"tokens"`
	Cost     Money `cel:"cost"`
	WallTime Clock `cel:"wall_time"`
}

// Count is a counted part of the budget. Left is unlimited without a limit, so that comparisons
// always work.
type Count struct {
	Used int64 `cel:"used"`
	Left int64 `cel:"left"`
}

// Money is a part of the budget in US dollars; Left is infinite without a limit.
type Money struct {
	Used float64 `cel:"used"`
	Left float64 `cel:"left"`
}

// Clock is a part of the budget in time; Left is the longest duration without a limit.
type Clock struct {
	Used time.Duration `cel:"used"`
	Left time.Duration `cel:"left"`
}

// Calls counts the run's calls of one tool. Made counts those that completed, failed or are
// running.
type Calls struct {
	Completed int64 `cel:"completed" yaml:"completed" rule:"min=0"`
	Failed    int64 `cel:"failed" yaml:"failed" rule:"min=0"`
	Refused   int64 `cel:"refused" yaml:"refused" rule:"min=0"`
	Running   int64 `cel:"running" yaml:"running" rule:"min=0"`
	Made      int64 `cel:"made"`
}

// unlimited is the remainder of a count without a limit.
const unlimited = math.MaxInt64

// NewBudget returns the used and the remaining budget of a run.
func NewBudget(l api.Limits, u api.Usage, took time.Duration) Budget {
	b := Budget{
		Calls:  count(u.Calls, l.Calls),
		Tokens: count(u.InputTokens+u.OutputTokens, l.Tokens),
		Cost:   Money{Used: u.Cost, Left: math.Inf(1)}, WallTime: Clock{Used: took,
			Left: math.MaxInt64},
	}
	if l.Cost > 0 {
		b.Cost.Left = max(l.Cost-u.Cost, 0)
	}
	if l.WallTime > 0 {
		b.WallTime.Left = max(l.WallTime.Std()-took, 0)
	}
	return b
}

func count(used, limit int) Count {
	c := Count{Used: int64(used), Left: unlimited}
	if limit > 0 {
		c.Left = max(int64(limit-used), 0)
	}
	return c
}

func toCalls(p api.PastCalls) Calls {
	c := Calls{Completed: int64(p.Completed), Failed: int64(p.Failed), Refused: int64(p.Refused),
		Running: int64(p.Running)}
	c.Made = c.Completed + c.Failed + c.Running
	return c
}
