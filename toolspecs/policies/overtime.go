package policies

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Principal is who started the run of the call.
type Principal struct {
	ID   string `cel:"id"`
	Auth string `cel:"auth"`
	past *pastReader
}

// Conversation is that of the run; a run without one is a conversation of its own.
type Conversation struct {
	ID   string `cel:"id"`
	past *pastReader
}

// pastCall is an earlier call of a principal or a conversation.
type pastCall struct {
	Tool string         `cel:"tool"`
	Args map[string]any `cel:"args"`
	// At is when the call was admitted.
	At time.Time `cel:"at"`
	// Run is the ID of its run.
	Run     string `cel:"run"`
	Running bool   `cel:"running"`
}

// Earlier answers what rules ask about earlier calls.
type Earlier func(api.LedgerScope, ledgerrules.Query) ledgerrules.Result

// Functions of principal and conversation. total is sum with the call that is checked.
const (
	funcCount = "count"
	funcSum   = "sum"
	funcTotal = "total"
	funcPast  = "past"
)

var kinds = map[string]ledgerrules.Kind{funcCount: ledgerrules.CountCalls,
	funcSum:   ledgerrules.SumArguments,
	funcTotal: ledgerrules.SumArguments, funcPast: ledgerrules.ListCalls}

// scopes has the name of each scope in expressions, with the type of its values.
var scopes = map[string]string{string(api.ScopePrincipalCalls): "policies.Principal",
	string(api.ScopeConversationCalls): "policies.Conversation"}

// overTime are the functions about earlier calls. Each takes, if it is not about the tools of its
// rule, a tool or a list of tools, then the argument that is summed, then the window.
func overTime() []cel.EnvOption {
	options := []cel.EnvOption{
		cel.Variable(namePrincipal, cel.ObjectType("policies.Principal")),
		cel.Variable(nameConversation, cel.ObjectType("policies.Conversation")),
	}
	results := map[string]*cel.Type{funcCount: cel.IntType, funcSum: cel.DoubleType,
		funcTotal: cel.DoubleType, funcPast: cel.ListType(cel.ObjectType("policies.pastCall"))}
	for name, result := range results {
		last := []*cel.Type{cel.StringType}
		if kinds[name] == ledgerrules.SumArguments {
			last = append(last, cel.StringType)
		}
		var overloads []cel.FunctionOpt
		for scope, object := range scopes {
			for of, first := range map[string][]*cel.Type{"rule": nil, "tool": {cel.StringType},
				"tools": {cel.ListType(cel.StringType)}} {
				overloads = append(overloads, cel.MemberOverload(scope+"_"+name+"_"+of,
					slices.Concat([]*cel.Type{cel.ObjectType(object)}, first, last), result,
					cel.FunctionBinding(func(args ...ref.Val) ref.Val {
						return askPast(name, scope, args)
					})))
			}
		}
		options = append(options, cel.Function(name, overloads...))
	}
	return options
}

var stringsType = reflect.TypeFor[[]string]()

// pastReader answers the questions of the rule that is evaluated.
type pastReader struct {
	facts *Facts
	adapt types.Adapter
	// tools are those of the rule, fields the arguments of earlier calls that its expression reads.
	tools, fields []string
	// saw describes the answers that the rule has got.
	saw []string
}

// askPast is the implementation of all functions.
func askPast(name, scope string, args []ref.Val) ref.Val {
	var p *pastReader
	switch of := args[0].Value().(type) {
	case Principal:
		p = of.past
	case Conversation:
		p = of.past
	}
	if p == nil {
		return types.NewErr("%s.%s can only be used as it is in a rule", scope, name)
	}
	q, err := p.query(name, args[1:])
	if err != nil {
		return types.NewErrFromString(err.Error())
	}
	if p.facts.Past == nil {
		return types.NewErr("%s is not known here", scope)
	}
	result := p.facts.Past(api.LedgerScope(scope), q)
	if result.Fault != "" {
		return types.NewErr("%s.%s: %s", scope, name, result.Fault)
	}
	return p.answer(name, scope, q, result)
}

// query returns the query of a call of a function.
func (p *pastReader) query(name string, args []ref.Val) (q ledgerrules.Query, err error) {
	q = ledgerrules.Query{Kind: kinds[name], Tools: p.tools}
	texts, last := make([]string, len(args)), len(args)-1
	for i, a := range args {
		if list, ok := a.(traits.Lister); ok {
			native, err := list.ConvertToNative(stringsType)
			if err != nil {
				return q, err
			}
			q.Tools, _ = native.([]string)
			continue
		}
		texts[i], _ = a.Value().(string)
	}
	named := 1
	if q.Kind == ledgerrules.SumArguments {
		q.Fields, named = []string{texts[last-1]}, 2
	}
	if len(args) > named && texts[0] != "" {
		q.Tools = []string{texts[0]}
	}
	if q.Kind == ledgerrules.ListCalls {
		q.Fields = p.fields
	}
	q.Within, err = parseWindow(texts[last])
	return q, err
}

// answer returns the result of a query as the function's value, and notes it.
func (p *pastReader) answer(name, scope string, q ledgerrules.Query,
	result ledgerrules.Result) ref.Val {
	what := fmt.Sprintf("%s.%s(%s)", scope, name, strings.Join(slices.Concat(q.Tools,
		q.Fields, []string{q.Within.String()}), ", "))
	switch name {
	case funcCount:
		p.note("%s = %d", what, result.Count)
		return types.Int(result.Count)
	case funcPast:
		p.note("%s: %d calls", what, len(result.Calls))
		return p.adapt.NativeToValue(toPastCalls(result.Calls))
	}
	sum, ok := new(big.Rat).SetString(result.Sum)
	if !ok {
		sum = new(big.Rat)
	}
	if name == funcTotal && (len(q.Tools) == 0 || slices.Contains(q.Tools, p.facts.Tool.Name)) {
		value, err := argumentAt(p.facts.Arguments, q.Fields[0])
		if err != nil {
			return types.NewErrFromString(err.Error())
		}
		if own, ok := ledgerrules.Decimal(value); ok {
			sum.Add(sum, own)
		}
	}
	number, _ := sum.Float64()
	p.note("%s = %v", what, number)
	return types.Double(number)
}

// maxSaw bounds what is noted of the answers that one rule gets.
const maxSaw = 5

func (p *pastReader) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(p.saw) < maxSaw && !slices.Contains(p.saw, text) {
		p.saw = append(p.saw, text)
	}
}

func toPastCalls(calls []ledgerrules.Call) []pastCall {
	list := make([]pastCall, len(calls))
	for i, c := range calls {
		list[i] = pastCall{Tool: c.Tool, At: c.At, Run: c.Run, Running: c.Running,
			Args: make(map[string]any, len(c.Args))}
		for name, value := range c.Args {
			if decoded, err := jsonvalue.Decode(value); err == nil {
				list[i].Args[name] = celNumbers(decoded)
			}
		}
	}
	return list
}

// parseWindow reads the window of a function: a duration as everywhere, or a number of days as 7d.
func parseWindow(text string) (api.Duration, error) {
	var d api.Duration
	written := text
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err != nil || fmt.Sprint(n) != days ||
			n > 1000 {
			return 0, fmt.Errorf("%.40q is not a window; write 30m, 24h or 7d", written)
		}
		text = fmt.Sprintf("%dh", 24*n)
	}
	if err := d.UnmarshalText([]byte(text)); err != nil || d < api.Duration(time.Second) ||
		d > ledgerrules.MaxWindow {
		return 0, fmt.Errorf("%.40q is not a window from 1s to 31d; write 30m, 24h or 7d", written)
	}
	return d, nil
}

// argumentAt returns the argument at a path such as amount or invoice.total, as JSON; nil if
// there is none.
func argumentAt(arguments json.RawMessage, path string) (json.RawMessage, error) {
	value := arguments
	for _, name := range strings.Split(path, ".") {
		var object map[string]json.RawMessage
		if len(value) == 0 || value[0] != '{' {
			return nil, nil
		}
		if err := json.Unmarshal(value, &object); err != nil {
			return nil, errArguments
		}
		value = object[name]
	}
	return value, nil
}
