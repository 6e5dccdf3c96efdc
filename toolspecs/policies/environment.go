package policies

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Names at the start of an expression.
const (
	nameTool   = "tool"
	nameArgs   = "args"
	nameCaller = "caller"
	nameRun    = "run"
	nameLabels = "labels"
	nameNow    = "now"
	nameBudget = "budget"
	nameCalls  = "calls"
	namePlan   = "plan"

	namePrincipal    = "principal"
	nameConversation = "conversation"
)

// factNames are the names of facts.
var factNames = []string{nameTool, nameArgs, nameCaller, nameRun, nameLabels, nameNow, nameBudget,
	nameCalls, namePlan, namePrincipal, nameConversation}

// Bounds of one expression: how long it may be, how deep, and how much work one evaluation may be,
// in CEL's units of cost.
const (
	maxExpression = 4 << 10
	maxDepth      = 50
	maxCost       = 100_000
	maxRegex      = 1000
)

// environment is CEL's standard library, which is deterministic and always ends, with optional
// values and the names above.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	options := append(sourceDeclarations(), cel.Macros(macros()...),
		cel.Variable(nameEarlier, cel.ListType(cel.ObjectType("policies.earlierCall"))),
		cel.Variable(nameFacts, cel.OpaqueType("policies.facts")),
		cel.Function(funcWhere, decls.DisableTypeGuards(true), cel.Overload("policies_where",
			[]*cel.Type{cel.ListType(cel.ObjectType("policies.earlierCall")), cel.StringType,
				cel.DynType}, cel.ListType(cel.ObjectType("policies.earlierCall")),
			cel.OverloadIsNonStrict(), cel.FunctionBinding(where))))
	options = append(options, overTime()...)
	options = append(options,
		cel.OptionalTypes(),
		cel.Types(structs...),
		cel.Variable(nameTool, cel.ObjectType("policies.Tool")),
		cel.Variable(nameArgs, cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable(nameCaller, cel.ObjectType("policies.Caller")),
		cel.Variable(nameRun, cel.ObjectType("policies.Run")),
		cel.Variable(nameLabels, cel.ListType(cel.StringType)),
		cel.Variable(nameNow, cel.TimestampType),
		cel.Variable(nameBudget, cel.ObjectType("policies.Budget")),
		cel.Variable(nameCalls, cel.MapType(cel.StringType, cel.ObjectType("policies.Calls"))),
		cel.Variable(namePlan, cel.ObjectType("policies.Plan")),
		cel.Function("lower", cel.MemberOverload("string_lower", []*cel.Type{cel.StringType},
			cel.StringType, cel.UnaryBinding(lower))),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(maxDepth),
		cel.RegexProgramSizeLimit(maxRegex),
	)
	return cel.NewEnv(options...)
})

// lower returns a text in lower case.
func lower(text ref.Val) ref.Val {
	s, ok := text.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(text)
	}
	return types.String(strings.ToLower(string(s)))
}

// values are facts as an expression reads them, each made when it is first needed.
type values struct {
	facts *Facts
	adapt types.Adapter
	by    map[string]any
	// defined has the values of shared expressions.
	defined map[*definition]ref.Val
	// past are the earlier calls, inVariables the variables, where an expression asked for them.
	past        *callList
	inVariables []variable
	// traced has the sources of values, and recorded those for the decision. searched counts the
	// bytes that were searched.
	traced   map[string][]found
	recorded []api.ValueSources
	searched int
	overTime pastReader
	// skipped are the rules whose result is unknown.
	skipped []string
}

func newValues(f *Facts, adapt types.Adapter) *values {
	return &values{facts: f, adapt: adapt, by: make(map[string]any, 8),
		overTime: pastReader{facts: f, adapt: adapt}}
}

// ResolveName returns the value of a name.
func (v *values) ResolveName(name string) (any, bool) {
	if known, ok := v.by[name]; ok {
		return known, true
	}
	value, ok := v.resolve(name)
	if ok {
		v.by[name] = value
	}
	return value, ok
}

// Parent is nil: there is nothing besides.
func (v *values) Parent() cel.Activation { return nil }

func (v *values) resolve(name string) (any, bool) {
	switch name {
	case nameArgs:
		return v.arguments(), true
	case nameCalls:
		return v.calls(), true
	case nameEarlier:
		return *v.earlier(), true
	case nameFacts, nameBudget:
		return v.resolveUnrecorded(name), true
	case nameRun:
		return v.adapt.NativeToValue(v.run()), true
	}
	value := v.plain(name)
	if value == nil {
		return nil, false
	}
	return v.adapt.NativeToValue(value), true
}

// resolveUnrecorded returns a value that no record has, which fails in a replay.
func (v *values) resolveUnrecorded(name string) any {
	switch {
	case v.facts.Unknown:
		return types.WrapErr(errUnknown)
	case name == nameFacts:
		return factsValue{v}
	}
	return v.adapt.NativeToValue(v.facts.Budget)
}

// plain returns the value of a name made of nothing else; nil if there is none.
func (v *values) plain(name string) any {
	f := v.facts
	switch name {
	case nameTool:
		return f.Tool
	case nameCaller:
		return f.Caller
	case nameLabels:
		return append([]string{}, f.Labels...)
	case nameNow:
		return f.Now.UTC()
	case namePlan:
		return f.Plan
	}
	return v.resolvePast(name)
}

// resolvePast returns the values that answer questions about earlier calls; nil if there is none.
func (v *values) resolvePast(name string) any {
	switch name {
	case namePrincipal:
		return Principal{ID: v.facts.Principal.ID, Auth: v.facts.Principal.Auth, past: &v.overTime}
	case nameConversation:
		return Conversation{ID: v.facts.Run.Conversation, past: &v.overTime}
	}
	return nil
}

// run returns the facts of the run, with what people wrote.
func (v *values) run() Run {
	run := v.facts.Run
	for _, s := range v.facts.Statements {
		switch s.Kind {
		case api.SourcePrompt:
			run.Prompt = s.Text
			run.Messages = append(run.Messages, s.Text)
		case api.SourceMessage:
			run.Messages = append(run.Messages, s.Text)
		}
	}
	ended := 0
	for _, p := range v.facts.Calls {
		ended += p.Completed + p.Failed + p.Refused
	}
	for _, c := range v.facts.Earlier {
		if c.Status != api.CallRunning {
			ended--
		}
	}
	run.Omitted = int64(max(ended, 0))
	return run
}

// earlier returns the earlier calls.
func (v *values) earlier() *callList {
	if v.past == nil {
		all := v.facts.Earlier
		ended := slices.IndexFunc(all, func(c *api.EarlierCall) bool {
			return c.Status == api.CallRunning
		})
		if ended < 0 {
			ended = len(all)
		}
		w := loadWindow(all[:ended], v.adapt)
		calls := slices.Clip(w.calls)
		for _, c := range all[ended:] {
			calls = append(calls, loadDerived(c, v.adapt))
		}
		list := callList{&lazyCalls{calls: calls, adapt: v.adapt, window: w}}
		v.past = &list
	}
	return v.past
}

var errArguments = errors.New("the arguments are not a JSON object")

func (v *values) arguments() ref.Val {
	if len(v.facts.Arguments) == 0 {
		return v.adapt.NativeToValue(map[string]any{})
	}
	decoded, err := jsonvalue.Decode(v.facts.Arguments)
	object, ok := decoded.(map[string]any)
	if err != nil || !ok {
		return types.NewErrFromString(errArguments.Error())
	}
	return v.adapt.NativeToValue(celNumbers(object))
}

// celNumbers converts the numbers of a JSON value to int64 if they are integers that fit, else to
// float64. It changes lists and objects in place.
func celNumbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
		f, err := value.Float64()
		if err != nil {
			return string(value)
		}
		return f
	case []any:
		for i, e := range value {
			value[i] = celNumbers(e)
		}
	case map[string]any:
		for k, e := range value {
			value[k] = celNumbers(e)
		}
	}
	return value
}

func (v *values) calls() ref.Val {
	byTool := make(map[string]Calls, len(v.facts.Calls))
	for _, p := range v.facts.Calls {
		byTool[p.Tool] = toCalls(p)
	}
	mapper, ok := v.adapt.NativeToValue(byTool).(traits.Mapper)
	if !ok {
		return types.NewErrFromString("the earlier calls cannot be read")
	}
	return pastCalls{mapper, v.adapt.NativeToValue(Calls{})}
}

// pastCalls is the calls by tool. A tool that was not called yet has been called zero times: a rule
// that counts must not fail at the first call.
type pastCalls struct {
	traits.Mapper
	none ref.Val
}

// Find returns the calls of a tool.
func (p pastCalls) Find(key ref.Val) (ref.Val, bool) {
	if found, ok := p.Mapper.Find(key); ok {
		return found, true
	}
	return p.none, true
}

// Get is Find for CEL's index operator.
func (p pastCalls) Get(key ref.Val) ref.Val {
	found, _ := p.Find(key)
	return found
}

// structs are the types of which expressions read fields.
var structs = []any{structType[Tool](), structType[Caller](), structType[Run](),
	structType[Calls](),
	structType[Budget](), structType[Count](), structType[Money](), structType[Clock](),
	structType[Plan](), structType[earlierCall](), structType[source](), structType[Principal](),
	structType[Conversation](), structType[pastCall]()}

// structType describes a type whose fields are named by their tags.
func structType[T any]() *cel.NativeTypeDesc {
	return cel.NativeTypeFor[T](types.ParseStructTags(true))
}

// fields has all field names, so that error messages can suggest similar ones.
var fields = sync.OnceValue(func() (names []string) {
	for _, one := range structs {
		names = append(names, fieldNames(one.(*cel.NativeTypeDesc).ReflectType())...)
	}
	return names
})

// fieldNames returns the names that expressions use for the fields of a struct.
func fieldNames(of reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(of) {
		if name := f.Tag.Get("cel"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// markedNames returns the names of the fields of facts that have a mark in the tag facts, such as
// run.prompt.
func markedNames(mark string) (names []string) {
	for _, fact := range reflect.VisibleFields(reflect.TypeFor[Facts]()) {
		if fact.Type.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(fact.Type) {
			if slices.Contains(strings.Split(f.Tag.Get("facts"), ","), mark) {
				names = append(names, strings.ToLower(fact.Name)+"."+f.Tag.Get("cel"))
			}
		}
	}
	return names
}

// fieldAt returns the field whose dot is at the position of a fault; empty if there is none.
func fieldAt(text string, line, column int) string {
	rest := restAt(text, line, column)
	if !strings.HasPrefix(rest, ".") {
		return ""
	}
	return readWord(rest[1:])
}

// nameAt returns the name at the position of a fault; empty if there is none.
func nameAt(text string, line, column int) string { return readWord(restAt(text, line, column)) }

// restAt returns the rest of a line. line counts from 1, column from 0.
func restAt(text string, line, column int) string {
	lines := strings.Split(text, "\n")
	if line > len(lines) {
		return ""
	}
	runes := []rune(lines[line-1])
	return string(runes[min(column, len(runes)):])
}

// readWord returns the name at the beginning of a text.
func readWord(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if end < 0 {
		return text
	}
	return text[:end]
}
