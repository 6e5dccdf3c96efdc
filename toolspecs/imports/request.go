package imports

import (
	"strings"

	"github.com/switchyard/switchyard/toolspecs"
)

// inBody is where parameters go that become members of a JSON body.
const inBody = "body"

// requestOf is a request that something other than an OpenAPI document describes. It is made a tool in the same way.
type requestOf struct {
	method, host, path string
	parameters         []any
	body               *object
	// result is the schema of what comes back, if it is known and wanted.
	result *object
	auth   *toolspecs.Auth
	// keep says that defaults are whoever calls' and not the server's.
	keep bool
}

// add gives the request a parameter. One that goes into the path and has no place there comes last in it.
func (r *requestOf) add(name, in string, schema *object) {
	if in == inBody {
		if r.body == nil {
			r.body = newObject()
		}
		r.body.set(name, schema)
		return
	}
	if in == inPath && !strings.Contains(r.path, "{"+name+"}") {
		r.path = strings.TrimSuffix(r.path, "/") + "/{" + name + "}"
	}
	p := newObject()
	p.set("name", name)
	p.set("in", in)
	p.set(keyRequired, in == inPath || as[bool](schema, keyRequired))
	p.set("schema", schema)
	r.parameters = append(r.parameters, p)
}

// tool makes a tool of kind rest.
func (r *requestOf) tool(name, description string) (Tool, error) {
	op := newObject()
	op.set(keyDescription, description)
	op.set("parameters", r.parameters)
	if r.body != nil {
		body := jsonContent(asSchema(r.body))
		body.set(keyRequired, true)
		op.set("requestBody", body)
	}
	if r.result != nil {
		responses := newObject()
		responses.set("200", jsonContent(r.result))
		op.set("responses", responses)
	}
	d := document{version: "1.0.0", known: newMemory(), keep: r.keep, options: Options{BaseURL: r.host, Auth: r.auth, Output: r.result != nil, MaxSchema: DefaultMaxSchema}}
	return d.tool(operation{method: r.method, path: r.path, op: op, name: name})
}

func jsonContent(schema *object) *object {
	content, typed, holder := newObject(), newObject(), newObject()
	typed.set("schema", schema)
	content.set("application/json", typed)
	holder.set("content", content)
	return holder
}
