package policies

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/toolfacts"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// Case is a call and the expected action of the rules.
type Case struct {
	Name  string
	Facts Facts
	Want  api.PolicyEffect
	// Rule is the rule that must take the action; empty for any.
	Rule string
	// Line is the line of the case in its file.
	Line int
}

// Cases are a file of cases, with the rules that they are about.
type Cases struct {
	Cases []Case
	sets  []*Set
}

// casesFile is a file of cases as written.
type casesFile struct {
	// Policies are paths of files of rules, relative to the file.
	Policies []string   `yaml:"policies" rule:"required,min=1"`
	Cases    []caseFile `yaml:"cases" rule:"required,min=1"`
}

type caseFile struct {
	Name   string               `yaml:"name" rule:"required"`
	Tool   toolFile             `yaml:"tool" rule:"required,short=name"`
	Args   json.RawMessage      `yaml:"args"`
	Plan   *planFile            `yaml:"plan" rule:"short=intent"`
	Caller callerFile           `yaml:"caller"`
	Run    runFile              `yaml:"run"`
	Labels []string             `yaml:"labels"`
	Calls  map[string]callsFile `yaml:"calls"`
	// Earlier are earlier calls with arguments and results.
	Earlier []earlierFile    `yaml:"earlier"`
	Past    []pastFile       `yaml:"past"`
	Budget  budgetFile       `yaml:"budget"`
	Now     string           `yaml:"now"`
	Want    api.PolicyEffect `yaml:"want" rule:"required,enum=deny|ask|warn|allow"`
	Rule    string           `yaml:"rule"`
}

type toolFile struct {
	Name     string   `yaml:"name" rule:"required"`
	Version  string   `yaml:"version"`
	Category string   `yaml:"category"`
	Tags     []string `yaml:"tags"`
	Lane     string   `yaml:"lane"`
	Effect   string   `yaml:"effect" rule:"enum=read|idempotent|once"`
	Effects  []string `yaml:"effects"`
	Emits    []string `yaml:"emits"`
}

// planFile is an execution plan.
type planFile struct {
	Intent           string   `yaml:"intent" rule:"required"`
	DryRun           bool     `yaml:"dry_run"`
	Rollback         string   `yaml:"rollback"`
	Preconditions    []string `yaml:"preconditions"`
	ExpectedOutcomes []string `yaml:"expected_outcomes"`
}

func (f *planFile) plan() Plan {
	if f == nil {
		return Plan{}
	}
	return Plan{Given: true, Intent: f.Intent, DryRun: f.DryRun, Rollback: f.Rollback,
		Preconditions: f.Preconditions, ExpectedOutcomes: f.ExpectedOutcomes}
}

type callerFile struct {
	Type string `yaml:"type" rule:"enum=agent|plan|session|direct"`
	ID   string `yaml:"id"`
	Auth string `yaml:"auth" rule:"enum=jwt|api_key|loopback"`
	// Claims is a mapping.
	Claims json.RawMessage `yaml:"claims"`
}

// caller returns the caller. Claims that are no mapping count as none; read reports them.
func (f callerFile) caller() Caller {
	c := Caller{Type: f.Type, ID: f.ID, Auth: f.Auth}
	_ = json.Unmarshal(f.Claims, &c.Claims)
	return c
}

type runFile struct {
	ID           string   `yaml:"id"`
	Agent        string   `yaml:"agent"`
	Conversation string   `yaml:"conversation"`
	Depth        int      `yaml:"depth" rule:"min=0"`
	Turn         int      `yaml:"turn" rule:"min=0"`
	Variables    []string `yaml:"variables"`
	Prompt       string   `yaml:"prompt"`
	Messages     []string `yaml:"messages"`
	Instructions string   `yaml:"instructions"`
	// Values is a mapping.
	Values json.RawMessage `yaml:"values"`
}

type callsFile struct {
	Completed int `yaml:"completed" rule:"min=0"`
	Failed    int `yaml:"failed" rule:"min=0"`
	Refused   int `yaml:"refused" rule:"min=0"`
	Running   int `yaml:"running" rule:"min=0"`
}

// budgetFile sets what is used, and what remains if there is a limit.
type budgetFile struct {
	Calls    countFile `yaml:"calls"`
	Tokens   countFile `yaml:"tokens"`
	Cost     moneyFile `yaml:"cost"`
	WallTime clockFile `yaml:"wall_time"`
}

type countFile struct {
	Used int  `yaml:"used" rule:"min=0"`
	Left *int `yaml:"left" rule:"min=0"`
}

type moneyFile struct {
	Used float64  `yaml:"used" rule:"min=0"`
	Left *float64 `yaml:"left" rule:"min=0"`
}

type clockFile struct {
	Used api.Duration  `yaml:"used"`
	Left *api.Duration `yaml:"left"`
}

// noon is the default time of the calls of cases.
var noon = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// LoadCases reads a file of cases, and the files of rules that it names, relative to it. The error
// is strictyaml.Faults and lists everything that is wrong in all of them.
func LoadCases(path string) (*Cases, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	doc, faults := strictyaml.ParseOne(path, data, MaxFileBytes)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var f casesFile
	doc.Decode(&f)
	c := &Cases{}
	var others strictyaml.Faults
	for i, name := range f.Policies {
		if name == "" {
			continue // which has been reported, or names no file
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		set, err := Load(name)
		if err != nil {
			doc.Report(jsonpath.Index(rulesPath, i), "the file of policies cannot be used",
				"correct it there; paths are relative to this file")
			theirs, _ := errors.AsType[strictyaml.Faults](err)
			others = append(others, theirs...)
		}
		c.sets = append(c.sets, set)
	}
	c.label(f.Cases)
	for i, written := range f.Cases {
		c.Cases = append(c.Cases, c.read(doc, jsonpath.Index(jsonpath.Root+".cases", i), written))
	}
	if err := append(doc.Faults(), others...).Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// label adds the labels of the files' tables to the tools of cases.
func (c *Cases) label(cases []caseFile) {
	for i := range cases {
		t := &cases[i].Tool
		facts := toolfacts.Facts{Name: t.Name, Category: t.Category, Tags: t.Tags}
		for _, set := range c.sets {
			l := set.LabelsOf(facts)
			for _, list := range []struct {
				own  *[]string
				more []string
			}{{&t.Effects, l.Effects}, {&t.Emits, labelsIn(l.Emits)}} {
				for _, word := range list.more {
					if !slices.Contains(*list.own, word) {
						*list.own = append(*list.own, word)
					}
				}
			}
		}
	}
}

// Sets returns the rules that the cases are about.
func (c *Cases) Sets() []*Set { return c.sets }

// read returns one case and reports faults beyond types and bounds.
func (c *Cases) read(doc *strictyaml.Document, at string, f caseFile) Case {
	one := Case{Name: f.Name, Want: f.Want, Rule: f.Rule, Facts: f.facts()}
	one.Line, _ = doc.Position(at)
	if f.Now != "" {
		now, err := time.Parse(time.RFC3339, f.Now)
		if err != nil {
			doc.Report(at+".now", fmt.Sprintf("%.40q is not a time", f.Now),
				"write it as 2026-01-31T22:30:00Z")
		}
		one.Facts.Now = now
	}
	reportUnlessMapping(doc, at+".args", "arguments of a call", one.Facts.Arguments)
	reportUnlessMapping(doc, at+".caller.claims", "claims of a caller", f.Caller.Claims)
	f.reportContents(doc, at)
	switch {
	case f.Rule == "":
	case !slices.ContainsFunc(c.sets, func(s *Set) bool {
		return slices.Contains(s.Names(),
			f.Rule)
	}):
		doc.Report(at+".rule", fmt.Sprintf("there is no rule %.80q in the files of policies",
			f.Rule), "")
	case f.Want == api.PolicyAllow && !slices.ContainsFunc(c.sets, func(s *Set) bool {
		return s.allows(f.Rule)
	}):
		doc.ReportKey(at+".rule", fmt.Sprintf("the rule %q does not allow calls", f.Rule),
			"remove rule, or set the action that the rule is to take")
	}
	return one
}

// reportUnlessMapping reports a value at a path that is neither absent nor a mapping.
func reportUnlessMapping(doc *strictyaml.Document, path, what string, value json.RawMessage) {
	if len(value) > 0 && value[0] != '{' {
		doc.Report(path, "the "+what+" must be a mapping", "")
	}
}

func (f caseFile) facts() Facts {
	facts := Facts{Tool: Tool(f.Tool), Caller: f.Caller.caller(), Run: f.Run.run(),
		Arguments: f.Args, Plan: f.Plan.plan(), Labels: f.Labels, Now: noon}
	facts.Caller.Type = cmp.Or(facts.Caller.Type, string(api.CallerAgent))
	if facts.Caller.Type == string(api.CallerAgent) {
		facts.Run.Agent = cmp.Or(facts.Run.Agent, facts.Caller.ID)
		facts.Caller.ID = cmp.Or(facts.Caller.ID, facts.Run.Agent)
	}
	facts.Principal = Principal{ID: f.Caller.ID, Auth: f.Caller.Auth}
	facts.Past = f.earlier()
	for tool, n := range f.Calls {
		facts.Calls = append(facts.Calls, api.PastCalls{Tool: tool, Completed: n.Completed,
			Failed: n.Failed, Refused: n.Refused, Running: n.Running})
	}
	b := BudgetOf(api.Limits{}, api.Usage{}, f.Budget.WallTime.Used.Std())
	b.Calls, b.Tokens = f.Budget.Calls.count(), f.Budget.Tokens.count()
	b.Cost.Used = f.Budget.Cost.Used
	if left := f.Budget.Cost.Left; left != nil {
		b.Cost.Left = *left
	}
	if left := f.Budget.WallTime.Left; left != nil {
		b.WallTime.Left = left.Std()
	}
	facts.Budget = b
	f.contents(&facts)
	return facts
}

func (f runFile) run() Run {
	return Run{ID: f.ID, Agent: f.Agent, Conversation: f.Conversation, Depth: int64(f.Depth),
		Turn: int64(f.Turn), Variables: f.Variables}
}

func (f countFile) count() Count {
	if f.Left == nil {
		return Count{Used: int64(f.Used), Left: unlimited}
	}
	return Count{Used: int64(f.Used), Left: int64(*f.Left)}
}

// Know fills in what cases omit about their tools. find returns a tool by name; unknown has the
// names that find does not know, each once.
func (c *Cases) Know(find func(name string) (Tool, bool)) (unknown []string) {
	for i := range c.Cases {
		t := &c.Cases[i].Facts.Tool
		known, ok := find(t.Name)
		if !ok {
			if !slices.Contains(unknown, t.Name) {
				unknown = append(unknown, t.Name)
			}
			continue
		}
		t.Version, t.Category, t.Lane, t.Effect = cmp.Or(t.Version, known.Version),
			cmp.Or(t.Category, known.Category), cmp.Or(t.Lane, known.Lane),
			cmp.Or(t.Effect, known.Effect)
		for _, list := range []struct {
			own   *[]string
			known []string
		}{{&t.Tags, known.Tags}, {&t.Effects, known.Effects}, {&t.Emits, known.Emits}} {
			if *list.own == nil {
				*list.own = list.known
			}
		}
	}
	return unknown
}

// Tried is the action of the rules on a case.
type Tried struct {
	Name string           `json:"name"`
	Line int              `json:"line"`
	OK   bool             `json:"ok"`
	Want api.PolicyEffect `json:"want"`
	Rule string           `json:"rule,omitempty"`
	Got  api.PolicyEffect `json:"got"`
	// Policies are the rules that held, or failed.
	Policies []api.PolicyAction `json:"policies,omitempty"`
}

// Try has the rules judge every case, in order.
func (c *Cases) Try() []Tried {
	all := make([]Tried, len(c.Cases))
	for i := range c.Cases {
		one := &c.Cases[i]
		t := Tried{Name: one.Name, Line: one.Line, Want: one.Want, Rule: one.Rule,
			Policies: checkAll(&one.Facts, c.sets...)}
		t.Got = actionOf(t.Policies)
		t.OK = t.Got == t.Want && (t.Rule == "" || slices.ContainsFunc(t.Policies,
			func(p api.PolicyAction) bool {
				return p.Rule == t.Rule && p.Effect == t.Want && p.Failure == ""
			}))
		all[i] = t
	}
	return all
}

// OneSided names the rules that match no case and those that match every case for their tools: the
// cases do not test the other outcome.
func (c *Cases) OneSided() (never, always []string) {
	for _, s := range c.sets {
		for i := range s.rules {
			r := &s.rules[i]
			matched, missed := 0, 0
			for n := range c.Cases {
				f := &c.Cases[n].Facts
				if _, holds := r.check(newValues(f, r.condition.adapt)); holds && r.concerns(f) {
					matched++
				} else {
					missed++
				}
			}
			if matched == 0 {
				never = append(never, r.Name)
			}
			if missed == 0 {
				always = append(always, r.Name)
			}
		}
	}
	return never, always
}
