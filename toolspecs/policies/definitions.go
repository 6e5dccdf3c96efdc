package policies

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// definition is a compiled list or shared expression.
type definition struct {
	name string
	// key identifies the content, with that of the definitions it uses.
	key   string
	typed *cel.Type
	// list is the value of a list, expression the program of a shared expression.
	list       ref.Val
	expression *Condition
	// fault is why neither is there.
	fault error
}

// scope is the definitions that an expression may name, with the environment that has them. A nil
// one has none.
type scope struct {
	env    *cel.Env
	byName map[string]*definition
	// key identifies the definitions.
	key string
}

// compiler compiles the definitions of a set, each once.
type compiler struct {
	definitions map[string]*definition
	scopes      map[string]*scope
}

func newCompiler() *compiler {
	return &compiler{definitions: map[string]*definition{}, scopes: map[string]*scope{}}
}

// scope returns the definitions of a rule, compiled. Each may use those before it.
func (c *compiler) scope(defined []api.PolicyDefinition) *scope {
	var s *scope
	for _, d := range defined {
		s = c.with(s, c.compile(s, d))
	}
	return s
}

// with returns a scope with one definition more.
func (c *compiler) with(s *scope, d *definition) *scope {
	key := d.key
	if s != nil {
		key = s.key + "\x00" + key
	}
	if known, ok := c.scopes[key]; ok {
		return known
	}
	next := &scope{key: key, byName: map[string]*definition{}}
	parent, err := environment()
	if s != nil {
		parent = s.env
		maps.Copy(next.byName, s.byName)
	}
	next.byName[d.name] = d
	if err == nil {
		next.env, err = parent.Extend(cel.Variable(d.name, d.typed))
	}
	if err != nil { // the name was checked
		next.env = parent
	}
	c.scopes[key] = next
	return next
}

// compile compiles a definition. One that does not compile has a value of any type that fails.
func (c *compiler) compile(s *scope, d api.PolicyDefinition) *definition {
	key := api.Digest(fmt.Appendf(nil, "%s\x00%s\x00%s", d.Name, d.Expression, d.Values))
	if s != nil && d.Expression != "" {
		key += " " + s.key
	}
	if known, ok := c.definitions[key]; ok {
		return known
	}
	made := &definition{name: d.Name, key: api.Digest([]byte(key)), typed: cel.DynType}
	if d.Expression == "" {
		made.list, made.typed, made.fault = decodeList(d.Values)
	} else if made.expression, made.fault = compileAny(s, d.Expression); made.fault == nil {
		made.typed = made.expression.typed
	}
	c.definitions[key] = made
	return made
}

// resolve returns the value of a definition, evaluated at most once for the facts.
func (s *scope) resolve(v *values, name string) (ref.Val, bool) {
	d, ok := s.byName[name]
	if !ok {
		return nil, false
	}
	if d.list != nil {
		return d.list, true
	}
	if known, ok := v.defined[d]; ok {
		return known, true
	}
	out := d.value(v)
	if d.expression != nil && len(d.expression.asks) > 0 {
		return out, true // which depends on the tools of the rule
	}
	if v.defined == nil {
		v.defined = map[*definition]ref.Val{}
	}
	v.defined[d] = out
	return out, true
}

func (d *definition) value(v *values) ref.Val {
	if d.fault != nil {
		return types.WrapErr(&faultyDefinition{d.name, d.fault})
	}
	out, err := d.expression.eval(v)
	if err != nil {
		return types.WrapErr(err)
	}
	return out
}

// faultyDefinition is the error of an expression that uses a definition that does not compile.
type faultyDefinition struct {
	name  string
	fault error
}

func (f *faultyDefinition) Error() string {
	return fmt.Sprintf("%s does not compile: %v", f.name, f.fault)
}

// scoped is facts with definitions.
type scoped struct {
	*values
	scope *scope
}

// ResolveName returns the value of a name.
func (s scoped) ResolveName(name string) (any, bool) {
	if out, ok := s.scope.resolve(s.values, name); ok {
		return out, true
	}
	return s.values.ResolveName(name)
}

var (
	errNoList = errors.New("the value is not a list")
	errMixed  = errors.New("the values are not all texts, nor all numbers")
)

// decodeList returns a list of texts or numbers as expressions read it.
func decodeList(data json.RawMessage) (ref.Val, *cel.Type, error) {
	decoded, err := jsonvalue.Decode(data)
	values, ok := decoded.([]any)
	if err != nil || !ok {
		return nil, cel.DynType, errNoList
	}
	if texts, ok := convertAll[string](values); ok {
		return newTextList(texts), cel.ListType(cel.StringType), nil
	}
	celNumbers(values)
	if whole, ok := convertAll[int64](values); ok {
		return types.DefaultTypeAdapter.NativeToValue(whole), cel.ListType(cel.IntType), nil
	}
	for i, v := range values {
		if n, ok := v.(int64); ok {
			values[i] = float64(n)
		}
	}
	if numbers, ok := convertAll[float64](values); ok {
		return types.DefaultTypeAdapter.NativeToValue(numbers), cel.ListType(cel.DoubleType), nil
	}
	return nil, cel.DynType, errMixed
}

func convertAll[T any](values []any) (all []T, ok bool) {
	for _, v := range values {
		one, ok := v.(T)
		if !ok {
			return nil, false
		}
		all = append(all, one)
	}
	return all, true
}

// textList is a list of texts that finds one of them without looking at all.
type textList struct {
	traits.Lister
	known map[types.String]bool
}

func newTextList(texts []string) textList {
	list := textList{types.DefaultTypeAdapter.NativeToValue(texts).(traits.Lister),
		make(map[types.String]bool, len(texts))}
	for _, text := range texts {
		list.known[types.String(text)] = true
	}
	return list
}

// Contains reports whether the list has a value.
func (l textList) Contains(value ref.Val) ref.Val {
	text, ok := value.(types.String)
	if !ok {
		return l.Lister.Contains(value)
	}
	return types.Bool(l.known[text])
}
