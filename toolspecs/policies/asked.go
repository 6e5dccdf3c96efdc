package policies

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
)

// asked is a question of an expression about earlier calls, known before it is evaluated.
type asked struct {
	scope api.LedgerScope
	query ledgerrules.Query
	// ofRule says that it is about the tools of its rule, ofCall that it is about the tool of the
	// call that is checked.
	ofRule, ofCall bool
	// id is that of the call of the function in the expression.
	id int64
}

// askedIn returns the questions of an expression about earlier calls, and the arguments of earlier
// calls that it reads. Tools, argument and window must be literals, because admission asks before
// it evaluates the rules, and enters calls with the arguments that rules need.
func askedIn(checked *ast.AST) (asks []asked, fields []string, fault *Fault) {
	report := func(id int64, message, hint string) {
		if fault == nil {
			at := checked.SourceInfo().GetStartLocation(id)
			fault = &Fault{Line: max(at.Line(), 1), Column: max(at.Column(), 0) + 1,
				Message: message, Hint: hint}
		}
	}
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if field := pastField(e); field != "" && !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
		if e.Kind() != ast.CallKind || !e.AsCall().IsMemberFunction() ||
			kinds[e.AsCall().FunctionName()] == "" {
			return
		}
		a, message, hint := askedBy(e.AsCall())
		if a.id = e.ID(); message != "" {
			report(e.ID(), message, hint)
		}
		asks = append(asks, a)
	}))
	return asks, fields, fault
}

// withFields sets the arguments of earlier calls that an expression reads.
func withFields(asks []asked, fields []string) []asked {
	asks = slices.Clone(asks)
	for i := range asks {
		if asks[i].query.Kind == ledgerrules.ListCalls {
			asks[i].query.Fields = fields
		}
	}
	return asks
}

// askedBy reads one call of a function about earlier calls, or says what is wrong with it.
func askedBy(call ast.CallExpr) (a asked, message, hint string) {
	name, args := call.FunctionName(), call.Args()
	target := call.Target()
	if target.Kind() != ast.IdentKind || scopes[target.AsIdent()] == "" {
		return a, fmt.Sprintf("%s is used on something else than principal or conversation",
			name), "write for example principal." + name + "(…)"
	}
	a.scope = api.LedgerScope(target.AsIdent())
	a.query.Kind = kinds[name]
	last := len(args) - 1
	within, ok := literal(args[last])
	var err error
	if ok {
		a.query.Within, err = parseWindow(within)
	}
	switch {
	case !ok:
		return a, "the window of " + name + " is not a literal", "write it as '24h'"
	case err != nil:
		return a, err.Error(), ""
	}
	rest := args[:last]
	if a.query.Kind == ledgerrules.SumArguments {
		field, ok := literal(rest[len(rest)-1])
		if !ok || field == "" {
			return a, "the argument that " + name + " adds up is not a literal",
				"write its name in quotes, such as 'amount'"
		}
		a.query.Fields, rest = []string{field}, rest[:len(rest)-1]
	}
	return a.ofTools(name, rest)
}

// ofTools reads the tools that a function is about.
func (a asked) ofTools(name string, args []ast.Expr) (asked, string, string) {
	if len(args) == 0 {
		a.ofRule = true
		return a, "", ""
	}
	elements := args[:1]
	if args[0].Kind() == ast.ListKind {
		elements = args[0].AsList().Elements()
	} else if a.ofCall = isToolName(args[0]); a.ofCall {
		return a, "", ""
	}
	for _, element := range elements {
		tool, ok := literal(element)
		if !ok {
			return a, "a tool of " + name + " is not a literal",
				"write its name in quotes, ['one', 'two'], or tool.name"
		}
		a.query.Tools = append(a.query.Tools, tool)
	}
	for _, tool := range a.query.Tools {
		if err := api.CheckToolName(tool); err != nil {
			return a, err.Error(), ""
		}
	}
	return a, "", ""
}

// isToolName reports whether an expression is tool.name.
func isToolName(e ast.Expr) bool {
	return e.Kind() == ast.SelectKind && e.AsSelect().FieldName() == "name" &&
		e.AsSelect().Operand().Kind() == ast.IdentKind &&
		e.AsSelect().Operand().AsIdent() == nameTool
}

// literal returns the text that an expression is.
func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().Value().(string)
	return text, ok
}

// pastField returns the argument of an earlier call that an expression reads: c.args.name,
// c.args['name'], or the same with a question mark.
func pastField(e ast.Expr) string {
	isArgs := func(e ast.Expr) bool {
		return e.Kind() == ast.SelectKind && e.AsSelect().FieldName() == nameArgs
	}
	switch e.Kind() {
	case ast.SelectKind:
		if isArgs(e.AsSelect().Operand()) {
			return e.AsSelect().FieldName()
		}
	case ast.CallKind:
		call := e.AsCall()
		reads := slices.Contains([]string{operators.Index, operators.OptSelect, operators.OptIndex},
			call.FunctionName())
		if reads && isArgs(call.Args()[0]) {
			name, _ := literal(call.Args()[1])
			return name
		}
	}
	return ""
}

// Asks are the questions about earlier calls that rules ask for one call.
type Asks struct {
	// Queries are those that are answered before the rules are evaluated, by scope.
	Queries map[api.LedgerScope][]ledgerrules.Query
	// Record is how the call is entered into the ledgers of scopes, for rules that ask about calls
	// of its tool: for how long, and with which arguments.
	Record map[api.LedgerScope]Recording
}

// Recording is how long a ledger keeps a call, and with which arguments.
type Recording struct {
	Keep api.Duration
	// Fields are arguments, Numbers those of them that are added up.
	Fields, Numbers []string
}

// Scopes returns the scopes whose ledgers the call needs.
func (a Asks) Scopes() (scopes []api.LedgerScope) {
	for _, scope := range []api.LedgerScope{api.ScopePrincipalCalls, api.ScopeConversationCalls} {
		_, recorded := a.Record[scope]
		if recorded || len(a.Queries[scope]) > 0 {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// AskPast reports whether a rule of the sets asks about earlier calls.
func AskPast(sets ...*Set) bool {
	return slices.ContainsFunc(sets, func(s *Set) bool { return s != nil && s.asks })
}

// CollectAsks returns the questions of the sets' rules that concern a call with these facts.
func CollectAsks(f *Facts, sets ...*Set) Asks {
	asks := Asks{Queries: map[api.LedgerScope][]ledgerrules.Query{},
		Record: map[api.LedgerScope]Recording{}}
	for _, s := range sets {
		for i := range s.list() {
			r := &s.rules[i]
			if len(r.Agents) > 0 && !slices.Contains(r.Agents, f.Run.Agent) {
				continue
			}
			for _, a := range r.listAsks() {
				asks.add(a, r, f)
			}
		}
	}
	return asks
}

// listAsks returns the questions of both expressions of the rule.
func (r *rule) listAsks() (asks []asked) {
	if r.condition != nil {
		asks = r.condition.asks
	}
	if r.unless != nil {
		asks = slices.Concat(asks, r.unless.asks)
	}
	return asks
}

func (a Asks) add(one asked, r *rule, f *Facts) {
	concerns, q := r.concerns(f), one.query
	if one.ofRule {
		q.Tools = r.Tools
	}
	asksAbout := len(q.Tools) == 0 || slices.Contains(q.Tools, f.Tool.Name)
	if one.ofCall {
		q.Tools, asksAbout = []string{f.Tool.Name}, concerns
	}
	if asksAbout {
		a.Record[one.scope] = a.Record[one.scope].with(q)
	}
	known := slices.ContainsFunc(a.Queries[one.scope], func(other ledgerrules.Query) bool {
		return other.Key() == q.Key()
	})
	if concerns && !known {
		a.Queries[one.scope] = append(a.Queries[one.scope], q)
	}
}

// with returns the recording that also serves a query.
func (r Recording) with(q ledgerrules.Query) Recording {
	r.Keep = max(r.Keep, q.Within)
	for _, field := range q.Fields {
		if !slices.Contains(r.Fields, field) {
			r.Fields = append(r.Fields, field)
		}
		if q.Kind == ledgerrules.SumArguments && !slices.Contains(r.Numbers, field) {
			r.Numbers = append(r.Numbers, field)
		}
	}
	return r
}

// Arguments returns the arguments with which a call is entered. The error says why it cannot be
// entered: an argument is sensitive, too long, or no number. sensitive are the sensitive parameters
// of the tool.
func (r Recording) Arguments(f *Facts, sensitive []string) (map[string]json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	for _, field := range r.Fields {
		first, _, _ := strings.Cut(field, ".")
		if slices.Contains(sensitive, first) {
			return nil, fmt.Errorf("a rule asks about the argument %s of earlier calls, which is "+
				"sensitive, and sensitive values are not kept", field)
		}
		value, err := argumentAt(f.Arguments, field)
		switch {
		case err != nil:
			return nil, err
		case value == nil || string(value) == "null":
			continue
		case len(value) > ledgerrules.MaxValue:
			return nil, fmt.Errorf("a rule asks about the argument %s of earlier calls, and this "+
				"one has %d bytes; %d are kept", field, len(value), ledgerrules.MaxValue)
		}
		if _, number := ledgerrules.Decimal(value); !number && slices.Contains(r.Numbers, field) {
			return nil, fmt.Errorf("a rule adds up the argument %s, which is not a number of at "+
				"most 40 characters", field)
		}
		args[field] = value
	}
	return args, nil
}
