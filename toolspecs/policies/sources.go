package policies

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
)

// Bounds of looking for values: the parts of one value, the length of a part in bytes, and the
// bytes that are searched for one call. maxSources bounds the sources of one value, maxRecorded
// those that a decision records, and maxValuesRecorded the values.
const (
	maxParts          = 100
	maxPart           = 16 << 10
	maxSearched       = 64 << 20
	maxSources        = 100
	maxRecorded       = 5
	maxValuesRecorded = 20
)

// plainError is a failure whose text quotes no value.
type plainError string

func (e plainError) Error() string { return string(e) }

const (
	errNotKept = plainError("the run keeps no results of calls, because the rules at its start " +
		"did not read them")
	errNoStatements = plainError("the run does not know what people wrote, because the rules at " +
		"its start did not read it")
	// errUnknown makes a replayed rule undecided.
	errUnknown = plainError("the value is unknown")

	errParts = plainError("the value has more than 100 parts to look for")
	errWork  = plainError("looking for the values takes too much work")
)

// source is api.ValueSource as expressions read it.
type source struct {
	Kind   string   `cel:"kind"`
	Call   string   `cel:"call"`
	Tool   string   `cel:"tool"`
	Name   string   `cel:"name"`
	Labels []string `cel:"labels"`
	Match  string   `cel:"match"`
}

// sourceFunctions are the functions over sources, with their numbers of arguments. bounded is set
// if they leave out short parts, unless an expression asks for them.
var sourceFunctions = []struct {
	name    string
	args    int
	bounded bool
	result  *cel.Type
	call    func(v *values, args []ref.Val) ref.Val
}{
	{"sources", 1, false, cel.ListType(cel.ObjectType("policies.source")), listSources},
	{"from_people", 1, true, cel.BoolType, fromPeople},
	{"free_of", 2, true, cel.BoolType, isFree},
}

// withShort is the last argument with which an expression asks for short parts.
const withShort = "short"

// sourceDeclarations declare the functions as macros write them: with facts and the name of the
// value, and whether short parts count as the last argument of those that are bounded.
func sourceDeclarations() (options []cel.EnvOption) {
	for _, fn := range sourceFunctions {
		types := []*cel.Type{cel.OpaqueType("policies.facts"), cel.StringType, cel.DynType}
		if fn.args == 2 {
			types = append(types, cel.StringType)
		}
		if fn.bounded {
			types = append(types, cel.BoolType)
		}
		options = append(options, cel.Function("@"+fn.name, cel.Overload("policies_"+fn.name, types,
			fn.result, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				return fn.call(args[0].(factsValue).values, args[1:])
			}))))
	}
	return options
}

// factsValue is the facts as a value that only functions can use.
type factsValue struct{ *values }

// ConvertToNative, ConvertToType, Equal, Type and Value are those of a value.
func (factsValue) ConvertToNative(reflect.Type) (any, error) { return nil, errArguments }
func (factsValue) ConvertToType(ref.Type) ref.Val            { return types.NoSuchOverloadErr() }
func (factsValue) Equal(ref.Val) ref.Val                     { return types.False }
func (factsValue) Type() ref.Type                            { return types.NewOpaqueType("policies.facts") }
func (f factsValue) Value() any                              { return f.values }

// part is a text or number of a value.
type part struct {
	// path is what the rule names, with the place in it.
	path string
	text string
	// number is the shortest form of a number; empty for other texts.
	number string
	// folded is the text after fold.
	folded string
}

// leastCounted is the number of characters, and of digits of a number, from which on a part counts
// for from_people and free_of. Shorter ones are in most texts by chance: 0, 1 and 4 as numbering
// and times, ids such as 12 in addresses.
const leastCounted = 4

// short reports whether a part is too short to say where it is from.
func (p part) short() bool {
	digits := 0
	for _, c := range strings.TrimLeft(p.number, "-0.") {
		if c != '.' {
			digits++
		}
	}
	return utf8.RuneCountInString(p.folded) < leastCounted || p.number != "" && digits < leastCounted
}

// collectParts returns the texts and numbers of a value. Empty texts, truth values and nulls are
// none.
func collectParts(path string, value any) (parts []part) {
	switch value := value.(type) {
	case string:
		if text := strings.TrimSpace(value); text != "" {
			return []part{{path, text, normalizeNumber(text), fold(text)}}
		}
	case int64:
		text := strconv.FormatInt(value, 10)
		return []part{{path, text, text, text}}
	case float64:
		text := strconv.FormatFloat(value, 'f', -1, 64)
		return []part{{path, text, text, text}}
	case []any:
		for i, e := range value {
			parts = append(parts, collectParts(fmt.Sprintf("%s[%d]", path, i), e)...)
		}
	case map[string]any:
		return objectParts(path, value)
	}
	return parts
}

// objectParts returns the parts of the values of an object, and of its keys that are values.
func objectParts(path string, object map[string]any) (parts []part) {
	for _, k := range slices.Sorted(maps.Keys(object)) {
		if !propertyName.MatchString(k) {
			parts = append(parts, collectParts(path+".key", k)...)
		}
		parts = append(parts, collectParts(path+"."+k, object[k])...)
	}
	return parts
}

// propertyName matches the keys that are names of properties. Other keys are values, such as the
// addresses of {"ada@example.com": "editor"}.
var propertyName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// normalizeNumber returns the shortest form of a text that is a number.
func normalizeNumber(text string) string {
	digits, negative := strings.CutPrefix(text, "-")
	if strings.Trim(digits, "0123456789.") != "" {
		return ""
	}
	number, ok := shortest(digits, ".")
	if ok && negative {
		number = "-" + number
	}
	return number
}

// within returns how the part is in a passage; empty if it is not.
func (p part) within(text *passage) api.Match {
	if occurs(text.raw, p.text) {
		return api.MatchExact
	}
	folded := text.folded()
	switch same := folded == text.raw && p.folded == p.text; {
	case !same && occurs(folded, p.folded), p.number != "" && text.numbers()[p.number]:
		return api.MatchNormalised
	}
	return ""
}

// found is the parts of a value with their sources.
type found struct {
	part
	sources []api.ValueSource
}

// trace returns the parts of a value with their sources, and records them.
func (v *values) trace(name string, value ref.Val) ([]found, error) {
	native := nativeValue(value)
	key := name + "\x00" + fmt.Sprint(native)
	if known, ok := v.traced[key]; ok {
		return known, nil
	}
	parts := collectParts(name, native)
	if len(parts) > maxParts {
		return nil, errParts
	}
	all := make([]found, len(parts))
	for i, p := range parts {
		sources, err := v.find(p)
		if err != nil {
			return nil, err
		}
		all[i] = found{p, sources}
	}
	if v.traced == nil {
		v.traced = map[string][]found{}
	}
	v.traced[key] = all
	v.record(all)
	return all, nil
}

// nativeValue returns a value of an expression as decoded JSON; nil for other values.
func nativeValue(value ref.Val) any {
	switch value := value.(type) {
	case types.String:
		return string(value)
	case types.Int:
		return int64(value)
	case types.Double:
		return float64(value)
	case *types.Optional:
		if value.HasValue() {
			return nativeValue(value.GetValue())
		}
	case traits.Mapper:
		return nativeMap(value)
	case traits.Lister:
		return nativeList(value)
	}
	return nil
}

func nativeMap(value traits.Mapper) map[string]any {
	object := map[string]any{}
	for i := value.Iterator(); i.HasNext() == types.True; {
		key := i.Next()
		object[toText(key)] = nativeValue(value.Get(key))
	}
	return object
}

func nativeList(value traits.Lister) []any {
	list := []any{}
	for i := value.Iterator(); i.HasNext() == types.True; {
		list = append(list, nativeValue(i.Next()))
	}
	return list
}

// find returns the sources of a part: what people wrote, then the newest results.
func (v *values) find(p part) ([]api.ValueSource, error) {
	if len(p.text) > maxPart {
		return v.nowhere(), nil
	}
	var sources []api.ValueSource
	for text, from := range v.given {
		if err := v.search(text); err != nil {
			return nil, err
		}
		if match := p.within(text); match != "" {
			from.Match = match
			sources = append(sources, from)
		}
	}
	results, err := v.results(p, len(sources) > 0)
	if err != nil {
		return nil, err
	}
	if sources = append(sources, results...); len(sources) == 0 {
		return v.nowhere(), nil
	}
	return sources[:min(len(sources), maxSources)], nil
}

// search counts a text that is searched.
func (v *values) search(text *passage) error {
	if v.searched += len(text.raw); v.searched > maxSearched {
		return errWork
	}
	return nil
}

// given yields the texts that the run was given, with their sources: statements and variables.
func (v *values) given(yield func(*passage, api.ValueSource) bool) {
	for _, s := range v.facts.Statements {
		if !yield(statementText(s), api.ValueSource{Kind: s.Kind, Labels: s.Labels}) {
			return
		}
	}
	for _, variable := range v.variables() {
		if !yield(variable.text, api.ValueSource{Kind: api.SourceVariable, Name: variable.name}) {
			return
		}
	}
}

// results returns the sources of a part in results, the newest first. given is set if the run was
// given the part, too.
//
// A result in which the call's own arguments come back says nothing about them: any tool that
// quotes what it did not find would make an address trusted. The sources of such an occurrence are
// those that the part had when the call was admitted. They are in the list already, because every
// occurrence before is: only a part that occurred nowhere then adds a source, with the labels that
// the run had.
func (v *values) results(p part, given bool) (sources []api.ValueSource, err error) {
	first := math.MaxInt // the place of the first result that has the part
	if given {
		first = 0
	}
	batches := map[string]bool{}
	for _, d := range v.earlier().calls {
		if len(d.call.Result)+len(d.call.Text) == 0 {
			continue
		}
		if err := v.search(d.result()); err != nil {
			return nil, err
		}
		match := p.within(d.result())
		if match == "" {
			continue
		}
		repeated, err := v.isRepeated(d, p, batches)
		switch {
		case err != nil:
			return nil, err
		case !repeated:
			sources = append(sources, api.ValueSource{Kind: api.SourceResult, Call: d.call.ID,
				Tool: d.call.Tool, Labels: d.call.Labels, Match: match})
		case first > d.call.After:
			sources = withNowhere(sources, d.call.RunLabels)
		}
		first = min(first, d.call.Place)
	}
	slices.Reverse(sources)
	return sources, nil
}

// withNowhere adds the source nowhere with labels, once for calls that were made at the same time.
func withNowhere(sources []api.ValueSource, labels []string) []api.ValueSource {
	if slices.ContainsFunc(sources, func(s api.ValueSource) bool {
		return s.Kind == api.SourceNowhere && slices.Equal(s.Labels, labels)
	}) {
		return sources
	}
	return append(sources, api.ValueSource{Kind: api.SourceNowhere, Labels: labels})
}

// isRepeated reports whether a part is in the arguments of a call, or of another call of its batch.
// batches has the answers for batches.
func (v *values) isRepeated(d *derived, p part, batches map[string]bool) (bool, error) {
	if d.call.Batch == "" {
		return v.inArguments(d, p)
	}
	if known, ok := batches[d.call.Batch]; ok {
		return known, nil
	}
	for _, other := range v.earlier().calls {
		if other.call.Batch != d.call.Batch || batches[d.call.Batch] {
			continue
		}
		in, err := v.inArguments(other, p)
		if err != nil {
			return false, err
		}
		batches[d.call.Batch] = in
	}
	return batches[d.call.Batch], nil
}

// inArguments reports whether a part is in the arguments of a call. Unlike in results it may be
// within a longer word, which a tool can cut. Unknown arguments may have every part.
func (v *values) inArguments(d *derived, p part) (bool, error) {
	if d.call.Unknown {
		return true, nil
	}
	args := d.arguments()
	return strings.Contains(args.folded(), p.folded) || p.number != "" && args.numbers()[p.number],
		v.search(args)
}

// nowhere is the source of a value that did not occur. The model composed it from all it has read,
// so it has the labels of the run.
func (v *values) nowhere() []api.ValueSource {
	return []api.ValueSource{{Kind: api.SourceNowhere, Labels: v.facts.Labels}}
}

// statementText returns the passage of a statement, computed once per worker.
func statementText(s *api.Statement) *passage {
	if known, ok := s.Derived.Load().(*passage); ok {
		return known
	}
	p := newPassage(s.Text)
	s.Derived.Store(p)
	return p
}

// variable is the text of a variable.
type variable struct {
	name string
	text *passage
}

func (v *values) variables() []variable {
	if v.inVariables == nil {
		v.inVariables = []variable{}
		for _, name := range slices.Sorted(maps.Keys(v.facts.Run.Values)) {
			v.inVariables = append(v.inVariables, variable{name,
				newPassage(valueText(v.facts.Run.Values[name]))})
		}
	}
	return v.inVariables
}

// record keeps the sources of parts for the decision.
func (v *values) record(all []found) {
	for _, f := range all {
		known := slices.ContainsFunc(v.recorded, func(r api.ValueSources) bool {
			return r.Value == f.path
		})
		if known || len(v.recorded) == maxValuesRecorded {
			continue
		}
		v.recorded = append(v.recorded, api.ValueSources{Value: display.Shorten(f.path, 100),
			Short: f.short(), Sources: f.sources[:min(len(f.sources), maxRecorded)]})
	}
}

// listSources implements sources(value): the sources of all parts.
func listSources(v *values, args []ref.Val) ref.Val {
	all, err := v.trace(toText(args[0]), args[1])
	if err != nil {
		return types.WrapErr(err)
	}
	list := []ref.Val{}
	for _, f := range all {
		for _, s := range f.sources {
			list = append(list, v.adapt.NativeToValue(source{Kind: string(s.Kind), Call: s.Call,
				Tool: s.Tool, Name: s.Name, Labels: append([]string{}, s.Labels...),
				Match: string(s.Match)}))
		}
	}
	return types.NewRefValList(v.adapt, list)
}

// peoples are the kinds of sources that people wrote.
var peoples = []api.SourceKind{api.SourcePrompt, api.SourceMessage, api.SourceInstructions,
	api.SourceVariable}

// fromPeople implements from_people(value): people wrote every part.
func fromPeople(v *values, args []ref.Val) ref.Val {
	return v.each(args, func(s api.ValueSource) bool { return slices.Contains(peoples, s.Kind) })
}

// isFree implements free_of(value, label): people wrote every part, or it is in a result without
// the label.
func isFree(v *values, args []ref.Val) ref.Val {
	label := toText(args[2])
	return v.each(args, func(s api.ValueSource) bool {
		return slices.Contains(peoples, s.Kind) || !slices.Contains(s.Labels, label)
	})
}

// each reports whether every part of a value has a source that is fine. A short part, unless the
// last argument asks for it, has the source nowhere.
func (v *values) each(args []ref.Val, fine func(api.ValueSource) bool) ref.Val {
	all, err := v.trace(toText(args[0]), args[1])
	if err != nil {
		return types.WrapErr(err)
	}
	for _, f := range all {
		if f.short() && args[len(args)-1] != types.True {
			f.sources = v.nowhere()
		}
		if !slices.ContainsFunc(f.sources, fine) {
			return types.False
		}
	}
	return types.True
}

func toText(text ref.Val) string {
	s, _ := text.Value().(string)
	return s
}
