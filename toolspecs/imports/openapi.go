package imports

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/toolspecs"
)

// Options select the operations of an OpenAPI document that become tools.
type Options struct {
	// BaseURL replaces the servers of the document.
	BaseURL string
	// Auth replaces the document's security schemes.
	Auth *outbound.Auth
	// Allow becomes every tool's entry.allow: what may be reached although it is not public.
	Allow []string
	// Only selects operations whose name, operationId, path or one of whose tags matches one of
	// the patterns; empty selects all.
	Only []string
}

// document is an OpenAPI document that is being imported.
type document struct {
	root *jsontext.Object
	// address is where the document was read from; nil for a file.
	address *url.URL
	options Options
	// title and version are the API's.
	title, version string
	// schemas are those that others refer to.
	schemas *definitions
}

// newDocument returns a document with its schemas. fill is set if the tools fill in defaults.
func newDocument(root *jsontext.Object, o Options, fill bool) document {
	return document{root: root, options: o, version: "1.0.0", schemas: newDefinitions(root, fill)}
}

// operation is a method of a path.
type operation struct {
	method, path string
	// item is what all methods of the path share.
	item, op *jsontext.Object
	// id is the preferred name of its tool.
	id string
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

func (o operation) tags() []string { return texts(o.op.Get("tags")) }

// source tells an operation from all others of the document.
func (o operation) source() string { return o.method + " " + o.path }

// OpenAPI creates a tool of kind rest from every selected operation of an OpenAPI 3 document, JSON
// or YAML. file is its name, or the address that it was read from, to which its servers may be
// relative. An operation that a toolspec cannot express is refused with the reason. The error is
// Faults: the document is unreadable or of another format, or no operation is selected.
func OpenAPI(file string, data []byte, o Options) (Result, error) {
	tree, notes, err := parse(file, data)
	if err != nil {
		return Result{}, err
	}
	root, err := openAPIRoot(file, tree)
	if err != nil {
		return Result{}, err
	}
	d := newDocument(root, o, false)
	d.address = webAddress(file)
	info := objectAt(root, "info")
	d.title = oneLine(textAt(info, "title"), 100)
	if version := textAt(info, "version"); plainVersion.MatchString(version) {
		d.version = version
	}
	r := Result{Title: strings.TrimSpace(d.title + " " + textAt(info, "version")),
		Source: d.title, Notes: notes}
	if hooks := objectAt(root, "webhooks"); len(hooks.Names()) > 0 {
		r.Notes = append(r.Notes,
			"webhooks are requests that the API sends, so they become no tools")
	}
	all := d.operations(&r)
	parts := make([]part, len(all))
	for i, op := range all {
		parts[i] = part{wanted: wanted{op.id, op.source()}, source: op.source(),
			also: append(op.tags(), op.path),
			make: func(name string) (Tool, error) { return d.tool(op, name) }}
	}
	err = r.add(file, "operations", parts, o.Only)
	return r, err
}

// plainVersion matches versions that are valid in a toolspec.
var plainVersion = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$`)

// openAPIRoot returns the document if it is OpenAPI 3.
func openAPIRoot(file string, root any) (*jsontext.Object, error) {
	fault := toolspecs.Fault{File: file,
		Message: "this is not an OpenAPI document: it lacks openapi: 3.…",
		Hint:    "use a document of OpenAPI 3.0, 3.1 or 3.2"}
	o, _ := root.(*jsontext.Object)
	switch version := textAt(o, "openapi"); {
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
	paths := objectAt(d.root, "paths")
	for _, p := range paths.Names() {
		if strings.HasPrefix(p, "x-") {
			continue
		}
		item, err := follow(d.root, paths.Members[p])
		if err != nil {
			r.refuse(p, "%v", err)
			continue
		}
		all = append(all, operationsIn(r, p, item)...)
		for _, method := range objectAt(item, "additionalOperations").Names() {
			r.refuse(method+" "+p, "the method %s is not supported", method)
		}
	}
	return all
}

func operationsIn(r *Result, path string, item *jsontext.Object) []operation {
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
		if o.id = textAt(o.op, "operationId"); legal(o.id) == "" {
			o.id = key + "_" + legal(path)
		}
		all = append(all, o)
	}
	return all
}
