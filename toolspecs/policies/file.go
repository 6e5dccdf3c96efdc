package policies

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// Bounds of a file: its size, its rules, and the message of each.
const (
	MaxFileBytes = 1 << 20
	maxRules     = 1000
	maxMessage   = 500
)

// Bounds of lists and shared expressions: how many a file has, how many values a list has, and how
// many bytes they have in all, counted once for each rule that uses them, because each rule is
// recorded with what it uses.
const (
	maxDefinitions  = 200
	maxValues       = 10_000
	maxDefinedBytes = 1 << 20
)

// rulesFile is a file of rules as written.
type rulesFile struct {
	Policies []ruleFile `yaml:"policies"`
	// Lists are lists of texts or numbers, and Define shared expressions, by name.
	Lists  map[string]json.RawMessage `yaml:"lists"`
	Define map[string]string          `yaml:"define"`
	// Labels is a table of the labels of tools.
	Labels []labelFile `yaml:"labels"`
	// Budgets are budgets of principals.
	Budgets []periodFile `yaml:"budgets"`
}

// ruleFile is api.PolicyRule as written, with the rules that files are held to.
type ruleFile struct {
	Name    string           `yaml:"name" rule:"required" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$ %q cannot name a rule" hint:"a name has up to 64 letters, digits, _, - and .; the first one is a letter or digit"`
	When    string           `yaml:"when" rule:"required"`
	Unless  string           `yaml:"unless"`
	Then    api.PolicyEffect `yaml:"then" rule:"required,enum=deny|ask|warn|allow"`
	Message string           `yaml:"message" rule:"required"`
	Tools   []string         `yaml:"tools" rule:"min=1" hint:"omit tools for a rule that is for all"`
	Agents  []string         `yaml:"agents" rule:"min=1" hint:"omit agents for a rule that is for all runs"`

	Approvers []api.Approver `yaml:"approvers" rule:"min=1,short=name" hint:"omit approvers if everyone but the caller may decide"`
	Clears    []api.Clearing `yaml:"clears" rule:"min=1,short=label" hint:"omit clears if approvals clear no labels"`
}

// rulesPath is where a file's rules are.
const rulesPath = jsonpath.Root + ".policies"

// Decode reads a file of rules. The error is strictyaml.Faults and lists everything that is wrong
// in the file, with the expressions that do not compile.
func Decode(file string, data []byte) (*Set, error) { return DecodeFor(file, data, nil) }

// DecodeFor is Decode with known tools: it also reports unknown tools, and arguments that no tool
// of the rule takes. Nil tools disable these checks.
func DecodeFor(file string, data []byte, tools Tools) (*Set, error) {
	doc, faults := strictyaml.ParseOne(file, data, MaxFileBytes)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var f rulesFile
	doc.Decode(&f)
	if !doc.Has(rulesPath) && len(f.Budgets) == 0 && doc.Faults().Err() == nil {
		doc.Report(jsonpath.Root, "it has neither policies nor budgets", "add policies: [{name: …, "+
			"when: …, then: …, message: …}]")
	}
	if len(f.Policies) > maxRules {
		doc.Report(rulesPath, fmt.Sprintf("there are %d rules; a file may have %d", len(f.Policies),
			maxRules), "combine rules: one rule can apply to several tools")
		return nil, doc.Faults().Err()
	}
	defined := newDefines(f.Lists, f.Define)
	set := NewSet(f.rules(doc, defined)...)
	set.labels, set.budgets = f.Labels, readBudgets(doc, f.Budgets)
	checkLabels(doc, f.Labels, tools)
	for i := range set.rules {
		set.check(doc, i, defined.names())
		tools.check(doc, i, set.rules[i])
	}
	if err := doc.Faults().Err(); err != nil {
		return nil, err
	}
	return set, nil
}

// rules returns the rules with the definitions that they use, and reports faults of those.
func (f rulesFile) rules(doc *strictyaml.Document, defined *defines) []api.PolicyRule {
	defined.check(doc, f)
	rules, size := make([]api.PolicyRule, len(f.Policies)), 0
	for i, r := range f.Policies {
		rules[i] = api.PolicyRule{Name: r.Name, When: r.When, Unless: r.Unless, Then: r.Then,
			Message: r.Message, Tools: r.Tools, Agents: r.Agents, Approvers: r.Approvers,
			Clears: r.Clears,
			Define: defined.usedBy(r.When, r.Unless)}
		for _, d := range rules[i].Define {
			size += len(d.Values) + len(d.Expression)
		}
	}
	if size > maxDefinedBytes {
		doc.Report(rulesPath, fmt.Sprintf("the lists and shared expressions have %d bytes, counted "+
			"once for each rule that uses them; they may have %d", size, maxDefinedBytes),
			"combine the rules that use a long list, or check it in a tool or a hook")
	}
	return rules
}

// check reports faults of a rule beyond types and bounds. Missing fields are already reported.
// defined are the names of lists and shared expressions.
func (s *Set) check(doc *strictyaml.Document, i int, defined []string) {
	r, at := s.rules[i], jsonpath.Index(rulesPath, i)
	if slices.ContainsFunc(s.rules[:i], func(other rule) bool { return other.Name == r.Name }) &&
		r.Name != "" {
		doc.Report(at+".name", fmt.Sprintf("there is a rule %q already", r.Name),
			"give each rule its own name, because decisions name the rule")
	}
	r.reportExpressions(doc, at, defined)
	if len(r.Message) > maxMessage {
		doc.Report(at+".message", fmt.Sprintf("the message has %d bytes; it may have %d",
			len(r.Message), maxMessage),
			"give the reason in a sentence; the caller reads it with every matching call")
	}
	checkNames(doc, at+".tools", r.Tools)
	checkNames(doc, at+".agents", r.Agents)
	var found strictyaml.Findings
	r.checkApprovers(&found, at+".approvers")
	r.checkClears(&found, at+".clears")
	doc.ReportAll(found.All)
}

// reportExpressions reports the expressions of the rule at a path that do not compile.
func (r rule) reportExpressions(doc *strictyaml.Document, at string, defined []string) {
	report := func(field string, fault error) {
		if f, ok := errors.AsType[*Fault](fault); ok {
			doc.Report(at+field, fmt.Sprintf("rule %q, %s%s", r.Name, f.Where(), f.Message),
				f.hint(defined))
		}
	}
	if r.When != "" {
		report(".when", r.fault)
	}
	report(".unless", r.unlessFault)
}

func (r rule) checkApprovers(found *strictyaml.Findings, at string) {
	if len(r.Approvers) > 0 && r.Then != api.PolicyAsk {
		found.Add(at, "remove approvers", "only a rule with then: ask has approvers")
	}
	CheckApprovers(found, at, r.Approvers)
}

// CheckApprovers reports faults of the approvers at a path.
func CheckApprovers(found *strictyaml.Findings, at string, approvers []api.Approver) {
	for i, a := range approvers {
		if fault := people.ApproverFault(a); fault != "" {
			found.Add(jsonpath.Index(at, i), "write a name, or {role: approver}, or {claims: "+
				"{groups: [finance]}}", "%s", fault)
		}
	}
	if len(approvers) > api.MaxApprovers {
		found.Add(at, "give these people a role or a claim", "there are %d approvers; a rule may "+
			"have %d", len(approvers), api.MaxApprovers)
	}
}

// checkNames reports what cannot be the name of a tool or an agent, or is given twice.
func checkNames(doc *strictyaml.Document, at string, names []string) {
	for i, name := range names {
		if err := api.CheckToolName(name); err != nil {
			doc.Report(jsonpath.Index(at, i), err.Error(), "")
		} else if slices.Contains(names[:i], name) {
			doc.Report(jsonpath.Index(at, i), fmt.Sprintf("%q is given twice", name), "remove one")
		}
	}
}

// Load reads the file of rules at path, as Decode does. That it cannot be read is a fault too.
func Load(path string) (*Set, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return Decode(path, data)
}

func read(path string) ([]byte, error) { return strictyaml.ReadFile(path, MaxFileBytes) }

// Watch loads the policies file at path and watches it until it is closed. While the file is
// missing or invalid, the previous rules stay in effect, as in lanes.Watch.
func Watch(path string, interval time.Duration, onChange func(*Set),
	onFault func(error)) (*filewatch.File[Set], error) {
	decode := func(path string, data []byte, _ *Set) (*Set, error) { return Decode(path, data) }
	same := func(a, b *Set) bool {
		return reflect.DeepEqual(a.Rules(), b.Rules()) && a.sameLabels(b) &&
			reflect.DeepEqual(a.Budgets(), b.Budgets())
	}
	file, err := filewatch.NewFile(path, filewatch.Reading[Set]{Read: read, Decode: decode,
		Same: same}, onChange, onFault)
	if err != nil {
		return nil, err
	}
	file.Follow(interval)
	return file, nil
}

// maxBudgets bounds the budgets of a file.
const maxBudgets = 100

// budgetsPath is where a file's budgets are.
const budgetsPath = jsonpath.Root + ".budgets"

// periodFile is ledgerrules.Budget as written.
type periodFile struct {
	// Name has up to 64 letters, digits, _, - and .; the first one is a letter or digit.
	Name string `yaml:"name" rule:"required" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$ %q cannot name a budget" hint:"a name has up to 64 letters, digits, _, - and .; the first one is a letter or digit"`
	// Period is in UTC; weeks begin on Monday.
	Period ledgerrules.Period `yaml:"period" rule:"required,enum=hour|day|week|month"`
	// Tokens and Cost are the limits, at least one: input and output tokens, and US dollars by the
	// model's price.
	Tokens int     `yaml:"tokens" rule:"min=1"`
	Cost   float64 `yaml:"cost" rule:"above=0"`

	// Principals and Except are the identities that it is for, or not for; default everyone.
	Principals []string `yaml:"principals" rule:"min=1" hint:"omit principals for a budget that is for everyone"`
	Except     []string `yaml:"except" rule:"min=1" hint:"omit except for a budget that is for everyone"`
}

// readBudgets returns the budgets of a file, and reports their faults beyond types and bounds.
func readBudgets(doc *strictyaml.Document, files []periodFile) (all []ledgerrules.Budget) {
	if len(files) > maxBudgets {
		doc.Report(budgetsPath, fmt.Sprintf("there are %d budgets; a file may have %d", len(files),
			maxBudgets), "one budget can be for several principals")
		return nil
	}
	for i, f := range files {
		at := jsonpath.Index(budgetsPath, i)
		same := func(other periodFile) bool { return other.Name == f.Name && f.Name != "" }
		if slices.ContainsFunc(files[:i], same) {
			doc.Report(at+".name", fmt.Sprintf("there is a budget %q already", f.Name),
				"give each budget its own name, because runs that it ends name it")
		}
		if !doc.Has(at+".tokens") && !doc.Has(at+".cost") {
			doc.Report(at, "it limits nothing", "add tokens or cost, such as tokens: 1000000")
		}
		all = append(all, ledgerrules.Budget(f))
	}
	return all
}

// FileDigest identifies the rules, and the table of labels and budgets if there are some.
func (s *Set) FileDigest() string {
	if !s.HasLabels() && len(s.Budgets()) == 0 {
		return s.Digest()
	}
	data, err := json.Marshal([]any{s.digest, s.labels, s.budgets})
	if err != nil { // they have only texts and numbers
		panic(err)
	}
	return api.Digest(data)
}

// Budgets returns the budgets of principals.
func (s *Set) Budgets() []ledgerrules.Budget {
	if s == nil {
		return nil
	}
	return s.budgets
}
