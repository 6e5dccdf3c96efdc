package policies

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// namesIn returns the names that an expression may read besides those that its own loops bind, each
// once. It returns none for an expression that cannot be parsed.
func namesIn(expression string) (names []string) {
	env, err := environment()
	if err != nil {
		return nil
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return nil
	}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind && !slices.Contains(names, e.AsIdent()) {
			names = append(names, e.AsIdent())
		}
	}))
	return names
}

// defines are the lists and shared expressions of a file, in an order in which each one uses only
// those before it.
type defines struct {
	all []api.PolicyDefinition
	// uses are the names of the definitions that one uses itself.
	uses map[string][]string
	// circular are those that use themselves, each as the names from it back to it.
	circular map[string][]string
}

// newDefines orders the definitions.
func newDefines(lists map[string]json.RawMessage, expressions map[string]string) *defines {
	d := &defines{uses: map[string][]string{}, circular: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		var compact bytes.Buffer
		_ = json.Compact(&compact, lists[name]) // it was decoded from a file
		d.all = append(d.all, api.PolicyDefinition{Name: name, Values: compact.Bytes()})
	}
	o := ordering{defines: d, lists: lists, expressions: expressions, done: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(expressions)) {
		o.add(name, nil)
	}
	return d
}

// ordering is the state of ordering definitions.
type ordering struct {
	*defines
	lists       map[string]json.RawMessage
	expressions map[string]string
	done        map[string]bool
}

// add adds an expression after those that it uses. path are those that use it.
func (o *ordering) add(name string, path []string) {
	if _, isList := o.lists[name]; isList { // which is a fault
		return
	}
	if at := slices.Index(path, name); at >= 0 {
		o.circular[name] = append(slices.Clone(path[at:]), name)
		return
	}
	if o.done[name] {
		return
	}
	path = append(slices.Clip(path), name)
	for _, used := range namesIn(o.expressions[name]) {
		_, isList := o.lists[used]
		_, shared := o.expressions[used]
		if shared || isList {
			o.uses[name] = append(o.uses[name], used)
		}
		if shared {
			o.add(used, path)
		}
	}
	o.done[name] = true
	o.all = append(o.all, api.PolicyDefinition{Name: name, Expression: o.expressions[name]})
}

// usedBy returns the definitions that expressions use, also by way of others, in order.
func (d *defines) usedBy(expressions ...string) (used []api.PolicyDefinition) {
	wanted := map[string]bool{}
	var want func(names []string)
	want = func(names []string) {
		for _, name := range names {
			if !wanted[name] {
				wanted[name] = true
				want(d.uses[name])
			}
		}
	}
	for _, expression := range expressions {
		want(namesIn(expression))
	}
	for _, one := range d.all {
		if wanted[one.Name] {
			used = append(used, one)
		}
	}
	return used
}

// Paths of lists and shared expressions in a file.
const (
	listsPath  = jsonpath.Root + ".lists"
	definePath = jsonpath.Root + ".define"
)

// check reports faults of the lists and shared expressions of a file.
func (d *defines) check(doc *strictyaml.Document, f rulesFile) {
	if n := len(d.all); n > maxDefinitions {
		doc.Report(jsonpath.Root, fmt.Sprintf("there are %d lists and shared expressions; a file "+
			"may have %d", n, maxDefinitions), "combine some")
	}
	c := newCompiler()
	for _, one := range d.all {
		at := jsonpath.Key(listsPath, one.Name)
		if one.Expression != "" || len(one.Values) == 0 {
			at = jsonpath.Key(definePath, one.Name)
		} else if _, both := f.Define[one.Name]; both {
			doc.ReportKey(jsonpath.Key(definePath, one.Name),
				fmt.Sprintf("%q is a list already", one.Name), "rename one")
		}
		checkDefinedName(doc, at, one.Name)
		if path := d.circular[one.Name]; path != nil {
			doc.Report(at, fmt.Sprintf("the expression %q uses itself: %s", one.Name,
				strings.Join(path, ", ")), "an expression may use lists and other expressions, "+
				"in any order, but no circle of them")
			continue
		}
		made := c.compile(c.scope(d.before(one)), one)
		if made.fault != nil {
			made.report(doc, at, d.names())
		}
		if len(one.Values) > 0 {
			checkSize(doc, at, one)
		}
	}
}

// names returns the names of the definitions.
func (d *defines) names() []string {
	names := make([]string, len(d.all))
	for i, one := range d.all {
		names[i] = one.Name
	}
	return names
}

// hint returns the remedy of a fault, given the names of definitions.
func (f *Fault) hint(names []string) string {
	if f.Hint == "" && len(spelling.Near(f.name, names, 1)) > 0 &&
		!slices.Contains(names, f.name) {
		return spelling.Hint(f.name, names)
	}
	return f.Hint
}

// before returns the definitions that one may use.
func (d *defines) before(one api.PolicyDefinition) []api.PolicyDefinition {
	if one.Expression == "" {
		return nil
	}
	return d.usedBy(one.Expression)
}

// report reports why a definition does not compile.
func (d *definition) report(doc *strictyaml.Document, at string, names []string) {
	switch f, isFault := errors.AsType[*Fault](d.fault); {
	case isFault:
		doc.Report(at, fmt.Sprintf("expression %q, %s%s", d.name, f.Where(), f.Message),
			f.hint(names))
	default:
		doc.Report(at, fmt.Sprintf("list %q: %v", d.name, d.fault),
			"write a list of texts, or one of numbers: [a.example.com, b.example.com]")
	}
}

func checkSize(doc *strictyaml.Document, at string, list api.PolicyDefinition) {
	var all []json.RawMessage
	if json.Unmarshal(list.Values, &all) == nil && len(all) > maxValues {
		doc.Report(at, fmt.Sprintf("the list %q has %d values; it may have %d", list.Name,
			len(all), maxValues), "look long lists up in a hook before the call")
	}
}

var legalDefinition = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// reserved are the names that CEL itself uses besides those of facts.
var reserved = []string{"true", "false", "null", "in", "as", "break", "const", "continue", "else",
	"for", "function", "if", "import", "let", "loop", "package", "namespace", "return", "var",
	"void", "while", "bool", "bytes", "double", "duration", "dyn", "int", "list", "map",
	"null_type", "string", "timestamp", "type", "uint", "optional", "math", "google", "policies"}

// checkDefinedName reports a name that expressions cannot use, or use for something else.
func checkDefinedName(doc *strictyaml.Document, at, name string) {
	switch {
	case !legalDefinition.MatchString(name):
		doc.ReportKey(at, fmt.Sprintf("%.80q cannot name a list or an expression", name),
			"a name has up to 64 letters, digits and _; the first one is a letter")
	case slices.Contains(reserved, name), slices.Contains(factNames, name):
		doc.ReportKey(at, fmt.Sprintf("%q has a meaning in expressions already", name),
			"choose another name")
	}
}
