package imports

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/toolspecs"
)

// FunctionOptions select the functions of a document that become tools.
type FunctionOptions struct {
	// Names selects functions whose name or tool name matches one of the patterns; empty selects
	// all.
	Names []string
	// Output declares results as well, where the document does. A result that breaks it gives a
	// note.
	Output bool
}

// function is one function of a document.
type function struct {
	o              *jsontext.Object
	original, name string
}

// Functions creates a tool of kind function from every selected function of a JSON or YAML
// document: functions in the formats of OpenAI, Anthropic and Google, one or a list, wrapped or
// not. The tool's name is the handler that an application registers. A function with method, host
// and endpoint becomes a tool of kind rest. Defaults that satisfy their own schema are kept, others
// are dropped with a note. The error is Faults.
func Functions(file string, data []byte, o FunctionOptions) (Result, error) {
	root, notes, err := parsed(file, data)
	if err != nil {
		return Result{}, err
	}
	r := Result{Notes: notes}
	all := functionsIn(&r, root)
	before := len(all)
	all = slices.DeleteFunc(all, func(f function) bool {
		return !picks(o.Names, func(pattern string) bool {
			return matches(pattern, f.name) ||
				matches(pattern, f.original)
		})
	})
	if len(all) == 0 && len(r.Refused) == 0 {
		fault := toolspecs.Fault{File: file, Message: "the document has no functions",
			Hint: "give a list of objects with name, description and parameters"}
		if before > 0 {
			fault.Message, fault.Hint = fmt.Sprintf("no function is selected; the document has %d",
				before), ""
		}
		return Result{}, toolspecs.Faults{fault}
	}
	var tools []Tool
	for _, f := range all {
		tool, err := f.tool(o)
		if err != nil {
			r.refuse(f.original, "%v", err)
			continue
		}
		tools = append(tools, tool)
	}
	r.take(tools)
	return r, nil
}

// functionsIn returns all functions of a document by name. Other values are refused.
func functionsIn(r *Result, root any) []function {
	var all []function
	collect(r, root, "$", &all)
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.original
	}
	for i, name := range toolNames(numbered(names)) {
		all[i].name = name
	}
	return all
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
		name := jsontext.Member[string](v, "name")
		if name == "" {
			r.refuse(at, "it has no name")
			return
		}
		*into = append(*into, function{o: v, original: name})
	default:
		r.refuse(at, "%.60s is no function", encoded(v))
	}
}

// Keys under which functions have the schema of their arguments, of their results, and arguments by
// where they go.
var (
	argumentKeys = []string{"parameters", "input_schema", "inputSchema", "parametersJsonSchema",
		"parameters_json_schema"}
	resultKeys = []string{"output_schema", "outputSchema", "response", "returns",
		"output_parameters"}
	groupKeys = []string{"path_parameters", "query_parameters", "header_parameters",
		"body_parameters"}
	quietKeys = []string{"name", keyDescription, keyType, "strict", "method", "host", "endpoint"}
)

func (f function) tool(o FunctionOptions) (Tool, error) {
	if f.o.Has("host") && f.o.Has("endpoint") {
		return f.request(o)
	}
	var notes noted
	t := f.translator(&notes)
	schema, err := f.arguments(t)
	if err != nil {
		return Tool{}, err
	}
	s := toolspecs.Spec{Name: f.name, Version: "1.0.0", InputSchema: encoded(schema),
		Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{}}}
	s.Description = plain(jsontext.Member[string](f.o, keyDescription), maxToolText)
	if s.Description == "" {
		s.Description = "The function " + f.name + "."
		notes.add("", "it has no description; write one, because models choose tools by it")
	}
	if f.name != f.original {
		notes.add("", "the function is called %q in the document; register it as %s, or name its handler",
			f.original, f.name)
	}
	if result, ok := f.first(resultKeys); ok && o.Output {
		t.response, t.root = true, result
		s.OutputSchema, s.Execution.OnInvalidOutput = encoded(t.schema(asSchema(result),
			"the result", 0)), "warn"
	}
	f.tellUnread(&notes)
	return Tool{Spec: s, Source: f.original, Notes: notes.notes}, nil
}

func (f function) translator(notes *noted) *translator {
	return &translator{root: f.o, most: maxDepth, left: maxSchemas, keep: true, notes: notes,
		known: newMemory()}
}

// first returns the first of the keys that the function has with an object.
func (f function) first(keys []string) (*jsontext.Object, bool) {
	for _, key := range keys {
		if o, ok := f.o.Get(key).(*jsontext.Object); ok {
			return o, true
		}
	}
	return nil, false
}

// arguments returns the schema of the function's arguments.
func (f function) arguments(t *translator) (*jsontext.Object, error) {
	all := jsontext.NewObject()
	if o, ok := f.first(argumentKeys); ok {
		all = asSchema(o)
		t.root = o
	} else if properties := f.grouped(); len(properties.Keys) > 0 {
		all.Set(keyProperties, properties)
	}
	s := t.schema(all, "", 0)
	switch types := typesIn(s); {
	case len(types) == 0 || slices.Equal(types, []string{typeObject}):
	default:
		return nil, errors.New("its parameters are of the type " + strings.Join(types, " or ") +
			", but arguments must be an object")
	}
	typed := jsontext.NewObject()
	typed.Set(keyType, typeObject)
	if !s.Has(keyProperties) {
		typed.Set(keyProperties, jsontext.NewObject())
	}
	typed.Delete(keyDescription)
	merge(typed, s)
	if t.left <= 0 {
		return nil, errors.New("its parameters consist of too many schemas")
	}
	return typed, nil
}

// grouped returns the arguments of a function that lists them by where they go.
func (f function) grouped() *jsontext.Object {
	properties := jsontext.NewObject()
	for _, key := range groupKeys {
		group := jsontext.Member[*jsontext.Object](f.o, key)
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
	if declares {
		_, declares = entryObject(properties)
	}
	if typed || declares || o.Has(keyRef) || o.Has(keyAnyOf) || o.Has(keyOneOf) ||
		o.Has(keyAllOf) || len(o.Names()) == 0 {
		return o
	}
	s := jsontext.NewObject()
	s.Set(keyType, typeObject)
	s.Set(keyProperties, o)
	return s
}

// entryObject reports whether all values of an object are objects.
func entryObject(o *jsontext.Object) (*jsontext.Object, bool) {
	for _, name := range o.Names() {
		if _, ok := o.Members[name].(*jsontext.Object); !ok {
			return nil, false
		}
	}
	return o, true
}

// tellUnread notes the fields of the function that toolspecs do not have.
func (f function) tellUnread(notes *noted) {
	var unread []string
	for _, key := range f.o.Names() {
		if !slices.Contains(slices.Concat(argumentKeys, resultKeys, groupKeys, quietKeys), key) {
			unread = append(unread, key)
		}
	}
	if len(unread) > 0 {
		notes.add("", "not imported: %s", listed(unread))
	}
}

// request creates a tool of kind rest from a function that describes its request. Its defaults are
// the server's.
func (f function) request(o FunctionOptions) (Tool, error) {
	host := jsontext.Member[string](f.o, "host")
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	r := requestOf{method: strings.ToUpper(cmp.Or(jsontext.Member[string](f.o, "method"), "GET")),
		host: host,
		path: "/" + strings.TrimPrefix(jsontext.Member[string](f.o, "endpoint"), "/")}
	for _, key := range groupKeys {
		in, _, _ := strings.Cut(key, "_")
		group := jsontext.Member[*jsontext.Object](f.o, key)
		for _, name := range group.Names() {
			schema, _ := group.Members[name].(*jsontext.Object)
			r.add(name, in, schema)
		}
	}
	if result, ok := f.first(resultKeys); ok && o.Output {
		r.result = asSchema(result)
	}
	tool, err := r.tool(f.name, jsontext.Member[string](f.o, keyDescription))
	tool.Source = f.original
	return tool, err
}
