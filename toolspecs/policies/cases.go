package policies

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
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
	Name   string           `yaml:"name" rule:"required"`
	Tool   Tool             `yaml:"tool" rule:"required,short=name"`
	Args   json.RawMessage  `yaml:"args"`
	Plan   *Plan            `yaml:"plan" rule:"short=intent"`
	Caller callerFile       `yaml:"caller"`
	Run    runFile          `yaml:"run"`
	Labels []string         `yaml:"labels"`
	Calls  map[string]Calls `yaml:"calls"`
	// Earlier are earlier calls with arguments and results.
	Earlier []earlierFile    `yaml:"earlier"`
	Past    []pastFile       `yaml:"past"`
	Budget  budgetFile       `yaml:"budget"`
	Now     string           `yaml:"now"`
	Want    api.PolicyEffect `yaml:"want" rule:"required,enum=deny|ask|warn|allow"`
	Rule    string           `yaml:"rule"`
}

type callerFile struct {
	Caller
	// Claims is a mapping.
	Claims json.RawMessage `yaml:"claims"`
}

// caller returns the caller. Claims that are no mapping count as none; read reports them.
func (f callerFile) caller() Caller {
	c := f.Caller
	_ = json.Unmarshal(f.Claims, &c.Claims)
	return c
}

type runFile struct {
	Run
	Instructions string `yaml:"instructions"`
	// Values is a mapping.
	Values json.RawMessage `yaml:"values"`
}

// run returns the run without its texts, which are statements of the facts.
func (f runFile) run() Run {
	r := f.Run
	r.Prompt, r.Messages = "", nil
	return r
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
			l := set.FindLabels(facts)
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
	facts := Facts{Tool: f.Tool, Caller: f.Caller.caller(), Run: f.Run.run(),
		Arguments: f.Args, Labels: f.Labels, Now: noon}
	if f.Plan != nil {
		facts.Plan, facts.Plan.Given = *f.Plan, true
	}
	facts.Caller.Type = cmp.Or(facts.Caller.Type, string(api.CallerAgent))
	if facts.Caller.Type == string(api.CallerAgent) {
		facts.Run.Agent = cmp.Or(facts.Run.Agent, facts.Caller.ID)
		facts.Caller.ID = cmp.Or(facts.Caller.ID, facts.Run.Agent)
	}
	facts.Principal = Principal{ID: f.Caller.ID, Auth: f.Caller.Auth}
	facts.Past = f.earlier()
	for tool, n := range f.Calls {
		facts.Calls = append(facts.Calls, api.PastCalls{Tool: tool,
			Completed: int(n.Completed), Failed: int(n.Failed), Refused: int(n.Refused),
			Running: int(n.Running)})
	}
	b := NewBudget(api.Limits{}, api.Usage{}, f.Budget.WallTime.Used.Std())
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
		own, from := reflect.ValueOf(t).Elem(), reflect.ValueOf(known)
		for n := range own.NumField() {
			if own.Field(n).IsZero() {
				own.Field(n).Set(from.Field(n))
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
		t.Got = strictestEffect(t.Policies)
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
