package imports

import (
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
)

// inBody is where parameters go that become members of a JSON body.
const inBody = "body"

// requestOf is a request described by something other than an OpenAPI document. It becomes a tool
// in the same way.
type requestOf struct {
	method, host, path string
	parameters         []any
	body               *jsontext.Object
	// result is the schema of what comes back, if it is known and wanted.
	result *jsontext.Object
	auth   *outbound.Auth
	// keep is set if defaults are the caller's and not the server's.
	keep bool
}

// add gives the request a parameter. One that goes into the path and has no place there comes last
// in it.
func (r *requestOf) add(name, in string, schema *jsontext.Object) {
	if in == inBody {
		if r.body == nil {
			r.body = jsontext.NewObject()
		}
		r.body.Set(name, schema)
		return
	}
	if in == inPath && !strings.Contains(r.path, "{"+name+"}") {
		r.path = strings.TrimSuffix(r.path, "/") + "/{" + name + "}"
	}
	p := jsontext.NewObject()
	p.Set("name", name)
	p.Set("in", in)
	p.Set(keyRequired, in == inPath || jsontext.Member[bool](schema, keyRequired))
	p.Set("schema", schema)
	r.parameters = append(r.parameters, p)
}

// tool makes a tool of kind rest.
func (r *requestOf) tool(name, description string) (Tool, error) {
	op := jsontext.NewObject()
	op.Set(keyDescription, description)
	op.Set("parameters", r.parameters)
	if r.body != nil {
		body := jsonContent(asSchema(r.body))
		body.Set(keyRequired, true)
		op.Set("requestBody", body)
	}
	if r.result != nil {
		responses := jsontext.NewObject()
		responses.Set("200", jsonContent(r.result))
		op.Set("responses", responses)
	}
	d := document{version: "1.0.0", known: newMemory(), keep: r.keep,
		options: Options{BaseURL: r.host, Auth: r.auth, Output: r.result != nil,
			MaxSchema: DefaultMaxSchema}}
	return d.tool(operation{method: r.method, path: r.path, op: op, name: name})
}

func jsonContent(schema *jsontext.Object) *jsontext.Object {
	content, typed, holder := jsontext.NewObject(), jsontext.NewObject(), jsontext.NewObject()
	typed.Set("schema", schema)
	content.Set("application/json", typed)
	holder.Set("content", content)
	return holder
}
