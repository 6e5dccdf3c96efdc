package imports

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/toolspecs"
)

// DefaultMaxSchema bounds the schema of a tool's arguments, in bytes: about four thousand tokens.
const DefaultMaxSchema = 16 << 10

// Options select the operations of an OpenAPI document that become tools.
type Options struct {
	// BaseURL replaces the servers of the document.
	BaseURL string
	// Auth replaces the document's security schemes.
	Auth *outbound.Auth
	// Allow becomes every tool's entry.allow: what may be reached although it is not public.
	Allow []string
	// Tags, Paths and Names select operations: those with one of the tags, those whose path is one
	// of the paths or matches it as a pattern (/** at the end matches all below), and those whose
	// tool name or operationId matches one of the patterns. An empty list selects all.
	Tags, Paths, Names []string
	// Output declares results as well, by the schema of the successful response. A result that
	// breaks it gives a note.
	Output bool
	// MaxSchema bounds the schema of the arguments in bytes; beyond it descriptions are shortened
	// and nested values left open. Default DefaultMaxSchema.
	MaxSchema int
}

// document is an OpenAPI document that is being imported.
type document struct {
	root *jsontext.Object
	// address is where the document was read from; nil for a file.
	address *url.URL
	options Options
	// title and version are the API's.
	title, version string
	// keep is set if the tool fills in defaults; otherwise they are the server's.
	keep  bool
	known *memory
}

// operation is a method of a path.
type operation struct {
	method, path string
	// item is what all methods of the path share.
	item, op *jsontext.Object
	name     string
}

// webAddress returns the address of a document that was read from one; nil for a file.
func webAddress(file string) *url.URL {
	u, err := url.Parse(file)
	if err != nil || outbound.CheckURL(u) != nil {
		return nil
	}
	u.RawQuery, u.Fragment = "", "" // perhaps a secret
	return u
}

// source tells an operation from all others of the document.
func (o operation) source() string { return o.method + " " + o.path }

// OpenAPI creates a tool of kind rest from every selected operation of an OpenAPI 3 document, JSON
// or YAML. file is its name, or the address that it was read from, to which its servers may be
// relative. An operation that a toolspec cannot express is refused with the reason. The error is
// Faults: the document is unreadable or of another format, or no operation is selected.
func OpenAPI(file string, data []byte, o Options) (Result, error) {
	root, notes, err := parsed(file, data)
	if err != nil {
		return Result{}, err
	}
	d := document{address: webAddress(file), options: o, known: newMemory()}
	d.options.MaxSchema = cmp.Or(o.MaxSchema, DefaultMaxSchema)
	if d.root, err = openAPIRoot(file, root); err != nil {
		return Result{}, err
	}
	info := jsontext.Member[*jsontext.Object](d.root, "info")
	d.title, d.version = plain(jsontext.Member[string](info, "title"), 100), "1.0.0"
	if version := jsontext.Member[string](info, "version"); plainVersion.MatchString(version) {
		d.version = version
	}
	r := Result{Title: strings.TrimSpace(d.title + " " + jsontext.Member[string](info, "version")),
		Notes: notes}
	if hooks := jsontext.Member[*jsontext.Object](d.root, "webhooks"); len(hooks.Names()) > 0 {
		r.Notes = append(r.Notes,
			"webhooks are requests that the API sends, so they become no tools")
	}
	picked, err := d.pick(file, d.operations(&r))
	if err != nil {
		return Result{}, err
	}
	var tools []Tool
	for _, op := range picked {
		tool, err := d.tool(op)
		if err != nil {
			r.refuse(op.source(), "%v", err)
			continue
		}
		tools = append(tools, tool)
	}
	r.take(tools)
	return r, nil
}

// plainVersion matches versions that are valid in a toolspec.
var plainVersion = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$`)

// openAPIRoot returns the document if it is OpenAPI 3.
func openAPIRoot(file string, root any) (*jsontext.Object, error) {
	fault := toolspecs.Fault{File: file,
		Message: "this is not an OpenAPI document: it lacks openapi: 3.…",
		Hint:    "use a document of OpenAPI 3.0, 3.1 or 3.2"}
	o, _ := root.(*jsontext.Object)
	switch version := jsontext.Member[string](o, "openapi"); {
	case o.Has("swagger"):
		fault.Message, fault.Hint = "this is a document of OpenAPI 2 (Swagger)",
			"convert it to OpenAPI 3 first"
	case strings.HasPrefix(version, "3."):
		return o, nil
	case version != "":
		fault.Message = "OpenAPI " + version + " is not supported"
	}
	return nil, toolspecs.Faults{fault}
}

// methods are the operations that a path can have, by their keys.
var methods = []string{"get", "head", "post", "put", "patch", "delete", "options", "trace", "query"}

// operations returns all operations, named, in the document's order. What cannot be one is refused.
func (d *document) operations(r *Result) []operation {
	var all []operation
	paths := jsontext.Member[*jsontext.Object](d.root, "paths")
	for _, p := range paths.Names() {
		if strings.HasPrefix(p, "x-") {
			continue
		}
		item, err := chased(d.root, paths.Members[p])
		if err != nil {
			r.refuse(p, "%v", err)
			continue
		}
		all = append(all, operationsOf(r, p, item)...)
		for _, method := range jsontext.Member[*jsontext.Object](item,
			"additionalOperations").Names() {
			r.refuse(method+" "+p, "the method %s is not supported", method)
		}
	}
	named(all)
	return all
}

func operationsOf(r *Result, path string, item *jsontext.Object) []operation {
	var all []operation
	for _, key := range item.Names() {
		if !slices.Contains(methods, key) {
			continue
		}
		o := operation{method: strings.ToUpper(key), path: path, item: item}
		if o.op, _ = item.Members[key].(*jsontext.Object); o.op == nil {
			r.refuse(o.source(), "an object is expected, not %.80s", encoded(item.Members[key]))
			continue
		}
		all = append(all, o)
	}
	return all
}

// named gives operations the names of their tools.
func named(all []operation) {
	parts := make([]wanted, len(all))
	for i, op := range all {
		parts[i] = wanted{jsontext.Member[string](op.op, "operationId"), op.source()}
		if legal(parts[i].name) == "" {
			parts[i].name = strings.ToLower(op.method) + "_" + legal(op.path)
		}
	}
	for i, name := range toolNames(parts) {
		all[i].name = name
	}
}

// pick returns the operations that the options pick.
func (d *document) pick(file string, all []operation) ([]operation, error) {
	o := d.options
	var picked []operation
	var tags []string
	for _, op := range all {
		tags = append(tags, texts(op.op.Get("tags"))...)
		if picks(o.Tags, func(tag string) bool {
			return slices.Contains(texts(op.op.Get("tags")),
				tag)
		}) &&
			picks(o.Paths, func(pattern string) bool { return below(pattern, op.path) }) &&
			picks(o.Names, func(pattern string) bool {
				return matches(pattern, op.name) || matches(pattern, jsontext.Member[string](op.op,
					"operationId"))
			}) {
			picked = append(picked, op)
		}
	}
	if len(picked) > 0 {
		return picked, nil
	}
	fault := toolspecs.Fault{File: file, Message: "the document has no operations"}
	if len(all) > 0 {
		fault.Message = fmt.Sprintf("no operation is selected; the document has %d",
			len(all))
		fault.Hint = selectionHint(o, all, tags)
	}
	return nil, toolspecs.Faults{fault}
}

// selectionHint returns why a selection may be empty.
func selectionHint(o Options, all []operation, tags []string) string {
	if len(o.Tags) > 0 && len(tags) == 0 {
		return "the operations of the document have no tags; select by path or name"
	}
	if len(o.Tags) > 0 {
		return spelling.Hint(o.Tags[0], slices.Compact(slices.Sorted(slices.Values(tags))))
	}
	for _, pattern := range o.Paths {
		prefix := strings.TrimSuffix(pattern, "/") + "/"
		if slices.ContainsFunc(all, func(op operation) bool {
			return strings.HasPrefix(op.path, prefix)
		}) {
			return "to select everything below the path, write " + prefix + "**"
		}
	}
	return ""
}

// picks reports whether one of the patterns fits; no patterns fit everything.
func picks(patterns []string, fits func(string) bool) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, fits)
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// below reports whether a path is the given one or matches it as a pattern. A pattern that ends in
// /** matches a path and everything below it.
func below(pattern, of string) bool {
	prefix, all := strings.CutSuffix(pattern, "/**")
	if !all {
		return of == pattern || matches(pattern, of)
	}
	depth := strings.Count(prefix, "/") + 1
	segments := strings.SplitAfterN(of, "/", depth+1)
	start := strings.TrimSuffix(strings.Join(segments[:min(depth, len(segments))], ""), "/")
	return start == prefix || matches(prefix, start)
}
