package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/toolspecs"
)

// function is one function of a document.
type function struct {
	o        *jsontext.Object
	original string
}

// Functions creates a tool of kind function from every selected function of a JSON or YAML
// document: functions in the formats of OpenAI, Anthropic and Google, one or a list, wrapped or
// not. The tool's name is the handler that an application registers. A function with method, host
// and endpoint becomes a tool of kind rest. Defaults that satisfy their own schema are kept, others
// are dropped with a note. only selects functions whose name or tool name matches one of the
// patterns. The error is Faults.
func Functions(file string, data []byte, only []string) (Result, error) {
	root, notes, err := parse(file, data)
	if err != nil {
		return Result{}, err
	}
	r := Result{Notes: notes}
	var all []function
	collect(&r, root, "$", &all)
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.original
	}
	parts := make([]part, len(all))
	for i, w := range numbered(names) {
		parts[i] = part{wanted: w, source: w.name, make: all[i].tool}
	}
	err = r.add(file, "functions", parts, only)
	return r, err
}

// wrappers are the keys under which lists of functions are found.
var wrappers = []string{"tools", "functions", "function", "functionDeclarations",
	"function_declarations"}

// collect finds the functions in a value; at is its place.
func collect(r *Result, value any, at string, into *[]function) {
	switch v := value.(type) {
	case []any:
		for i, e := range v {
			collect(r, e, fmt.Sprintf("%s[%d]", at, i), into)
		}
	case *jsontext.Object:
		for _, key := range wrappers {
			inner := v.Get(key)
			if _, isList := inner.([]any); isList {
				collect(r, inner, at+"."+key, into)
				return
			}
			if f, ok := inner.(*jsontext.Object); ok && key == "function" {
				collect(r, f, at+"."+key, into)
				return
			}
		}
		name := textAt(v, "name")
		if name == "" {
			r.refuse(at, "it has no name")
			return
		}
		*into = append(*into, function{o: v, original: name})
	default:
		r.refuse(at, "%.60s is no function", encoded(v))
	}
}

// Keys under which functions have the schema of their arguments, and arguments by where they go.
var (
	argumentKeys = []string{"parameters", "input_schema", "inputSchema", "parametersJsonSchema",
		"parameters_json_schema"}
	groupKeys = []string{"path_parameters", "query_parameters", "header_parameters",
		"body_parameters"}
	quietKeys = []string{"name", keyDescription, keyType, "strict", "method", "host", "endpoint"}
)

func (f function) tool(name string) (Tool, error) {
	if f.o.Has("host") && f.o.Has("endpoint") {
		return f.request(name)
	}
	var notes noted
	schema, err := f.arguments()
	if err != nil {
		return Tool{}, err
	}
	s := toolspecs.Spec{Name: name, Version: "1.0.0", InputSchema: encoded(schema),
		Description: strings.TrimSpace(textAt(f.o, keyDescription)),
		Entry:       toolspecs.Entry{Kind: toolspecs.FunctionEntry{}}}
	if s.Description == "" {
		s.Description = "The function " + name + "."
		notes.add("", "it has no description; write one, because models choose tools by it")
	}
	if name != f.original {
		notes.add("", "the function is called %q in the document; register it as %s, or name its handler",
			f.original, name)
	}
	f.tellUnread(&notes)
	return Tool{Spec: s, Notes: notes.notes}, nil
}

// convert returns a schema that stands alone, with the definitions that it has.
func convert(schema *jsontext.Object) *jsontext.Object {
	c := converter{definitions: newDefinitions(schema, true)}
	converted, _ := c.schema(schema).(*jsontext.Object)
	c.complete(converted)
	return converted
}

// arguments returns the schema of the function's arguments.
func (f function) arguments() (*jsontext.Object, error) {
	all := object(keyProperties, f.grouped())
	for _, key := range argumentKeys {
		if o, ok := f.o.Get(key).(*jsontext.Object); ok {
			all = asSchema(o)
			break
		}
	}
	s := convert(all)
	if types := oneOrMore(s.Get(keyType)); len(types) > 0 &&
		!slices.Contains(types, any(typeObject)) {
		return nil, fmt.Errorf("its parameters are of the type %s, but arguments must be an object",
			types[0])
	}
	typed := object(keyType, typeObject, keyProperties, object())
	for _, key := range s.Keys {
		if key != keyType && key != keyDescription {
			typed.Set(key, s.Members[key])
		}
	}
	return typed, nil
}

// grouped returns the arguments of a function that lists them by where they go.
func (f function) grouped() *jsontext.Object {
	properties := object()
	for _, key := range groupKeys {
		group := objectAt(f.o, key)
		for _, name := range group.Names() {
			properties.Set(name, group.Members[name])
		}
	}
	return properties
}

// asSchema returns an object as a schema: unchanged, or as properties if it maps names to schemas.
func asSchema(o *jsontext.Object) *jsontext.Object {
	_, typed := o.Get(keyType).(string)
	properties, declares := o.Get(keyProperties).(*jsontext.Object)
	declares = declares && holdsObjectsAlone(properties)
	if typed || declares || len(o.Names()) == 0 ||
		slices.ContainsFunc([]string{keyRef, keyAnyOf, keyOneOf, keyAllOf}, o.Has) {
		return o
	}
	return object(keyType, typeObject, keyProperties, o)
}

// holdsObjectsAlone reports whether all values of an object are objects.
func holdsObjectsAlone(o *jsontext.Object) bool {
	return !slices.ContainsFunc(o.Names(), func(name string) bool {
		_, ok := o.Members[name].(*jsontext.Object)
		return !ok
	})
}

// tellUnread notes the fields of the function that toolspecs do not have.
func (f function) tellUnread(notes *noted) {
	var unread []string
	for _, key := range f.o.Names() {
		if !slices.Contains(slices.Concat(argumentKeys, groupKeys, quietKeys), key) {
			unread = append(unread, key)
		}
	}
	if len(unread) > 0 {
		notes.add("", "not imported: %s", listed(unread))
	}
}

// request creates a tool of kind rest from a function that describes its request. Its defaults are
// the server's.
func (f function) request(name string) (Tool, error) {
	host := textAt(f.o, "host")
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	r := request{method: strings.ToUpper(cmp.Or(textAt(f.o, "method"), "GET")), host: host,
		path: "/" + strings.TrimPrefix(textAt(f.o, "endpoint"), "/")}
	for _, key := range groupKeys {
		in, _, _ := strings.Cut(key, "_")
		group := objectAt(f.o, key)
		for _, argument := range group.Names() {
			r.add(argument, in, objectAt(group, argument))
		}
	}
	return r.tool(name, textAt(f.o, keyDescription))
}
