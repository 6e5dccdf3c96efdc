package imports

import (
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
)

// inBody is where parameters go that become members of a JSON body.
const inBody = "body"

// request is a request described by something other than an OpenAPI document. It becomes a tool in
// the same way.
type request struct {
	method, host, path string
	parameters         []any
	body               *jsontext.Object
	auth               *outbound.Auth
	// fill is set if defaults are the caller's and not the server's.
	fill bool
}

// add gives the request a parameter. One that goes into the path and has no place there comes last
// in it.
func (r *request) add(name, in string, schema *jsontext.Object) {
	if in == inBody {
		if r.body == nil {
			r.body = object()
		}
		r.body.Set(name, schema)
		return
	}
	if in == inPath && !strings.Contains(r.path, "{"+name+"}") {
		r.path = strings.TrimSuffix(r.path, "/") + "/{" + name + "}"
	}
	r.parameters = append(r.parameters, object("name", name, "in", in,
		keyRequired, in == inPath || flagAt(schema, keyRequired), "schema", schema))
}

// tool makes a tool of kind rest.
func (r *request) tool(name, description string) (Tool, error) {
	op := object(keyDescription, description, "parameters", r.parameters)
	if r.body != nil {
		content := object("application/json", object("schema", asSchema(r.body)))
		op.Set("requestBody", object("content", content, keyRequired, true))
	}
	d := newDocument(op, Options{BaseURL: r.host, Auth: r.auth}, r.fill)
	return d.tool(operation{method: r.method, path: r.path, op: op}, name)
}
