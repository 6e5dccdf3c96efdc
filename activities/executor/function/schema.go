package function

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// goTypes are the Go types whose JSON form differs from that of their kind.
var goTypes = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.Number]():     {Type: "number"},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[[]byte]():          {Type: "string"},
	reflect.TypeFor[api.Duration]():    {Type: "string"},
}

func schemaFromType(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: goTypes})
	if err != nil {
		return nil, fmt.Errorf("its argument type %s has no JSON form: %w", t, err)
	}
	if kinds := listTypes(s); len(kinds) > 0 && !slices.Contains(kinds, "object") {
		return nil, fmt.Errorf(
			"its argument type %s is not an object in JSON; use a struct or a map with string keys",
			t)
	}
	return s, nil
}

// CheckType compares the Go type that a handler takes with a tool's input schema, as Executor.Check
// describes. takes is the schema of the type, nil for a raw handler.
func CheckType(handler string, takes *jsonschema.Schema, spec *toolspecs.Spec,
	inputSchema json.RawMessage) []string {
	if takes == nil {
		return nil
	}
	var declared jsonschema.Schema
	if err := json.Unmarshal(inputSchema, &declared); err != nil {
		return []string{fmt.Sprintf("tool %s: the input schema is not readable: %v", spec.Name,
			err)}
	}
	c := comparison{handler: handler}
	c.objects("", &declared, takes)
	return c.mismatches
}

// comparison collects mismatches between a declared schema and the schema of a Go type.
type comparison struct {
	handler    string
	mismatches []string
}

func (c *comparison) report(format string, args ...any) {
	c.mismatches = append(c.mismatches, fmt.Sprintf(format, args...))
}

func (c *comparison) values(path string, declared, takes *jsonschema.Schema) {
	if declared == nil || takes == nil || isUnrestricted(takes) || opaque(declared) {
		return
	}
	if !accepts(takes, declared) {
		c.report("parameter %q is declared as %s, but function %q takes %s", path,
			typeText(declared), c.handler, typeText(takes))
		return
	}
	c.values(path+"[]", declared.Items, takes.Items)
	if takes.Properties != nil || takes.AdditionalProperties != nil {
		c.objects(path+".", declared, takes)
	}
}

func (c *comparison) objects(prefix string, declared, takes *jsonschema.Schema) {
	if isUnrestricted(takes) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(declared.Properties)) {
		field, ok := findField(takes, name)
		if !ok {
			c.report("parameter %q is declared as %s, but function %q takes no argument of that name; it takes %s",
				prefix+name, typeText(declared.Properties[name]), c.handler,
				executor.NameList(takes.PropertyOrder))
			continue
		}
		c.values(prefix+name, declared.Properties[name], field)
	}
	for _, name := range takes.Required {
		c.checkRequired(prefix+name, name, declared, takes.Properties[name])
	}
}

// checkRequired reports a field that the function requires and that a valid call may omit.
func (c *comparison) checkRequired(path, name string, declared, field *jsonschema.Schema) {
	if optional(field) || opaque(declared) {
		return
	}
	parameter, ok := declared.Properties[name]
	switch {
	case !ok:
		c.report("function %q takes %q (%s), but no parameter of that name is declared; declare it, or make the field a pointer or omitzero",
			c.handler, path, typeText(field))
	case !slices.Contains(declared.Required, name) && parameter.Default == nil:
		c.report("parameter %q (%s) may be absent, but function %q needs it (%s); make it required, give it a default, or make the field a pointer or omitzero",
			path, typeText(parameter), c.handler, typeText(field))
	}
}

// findField returns the schema of an object's property, and whether the object may have it.
func findField(object *jsonschema.Schema, name string) (*jsonschema.Schema, bool) {
	if field, ok := object.Properties[name]; ok {
		return field, true
	}
	rest := object.AdditionalProperties
	return rest, rest == nil || rest.Not == nil
}

// optional reports whether the field is a pointer. Slices accept null too, but do not count as
// optional.
func optional(field *jsonschema.Schema) bool {
	types := listTypes(field)
	return isUnrestricted(field) || slices.Contains(types, "null") && !slices.Contains(types, "array")
}

func listTypes(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

func isUnrestricted(s *jsonschema.Schema) bool {
	return len(listTypes(s)) == 0 && s.Properties == nil
}

// opaque reports whether a schema constrains types by keywords other than type.
func opaque(s *jsonschema.Schema) bool {
	return len(listTypes(s)) == 0 && s.Properties == nil &&
		(s.Ref != "" || s.DynamicRef != "" || s.AnyOf != nil || s.OneOf != nil || s.AllOf != nil ||
			s.Enum != nil || s.Const != nil)
}

// accepts reports whether takes allows every JSON type that declared allows.
func accepts(takes, declared *jsonschema.Schema) bool {
	allowed := listTypes(takes)
	if slices.Contains(allowed, "number") {
		allowed = append(slices.Clone(allowed), "integer")
	}
	types := listTypes(declared)
	if len(types) == 0 {
		return declared.Properties != nil && slices.Contains(allowed, "object")
	}
	for _, t := range types {
		if !slices.Contains(allowed, t) {
			return false
		}
	}
	return true
}

func typeText(s *jsonschema.Schema) string {
	types := listTypes(s)
	if len(types) > 1 {
		types = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
	}
	if len(types) == 0 {
		return "any value"
	}
	return strings.Join(types, " or ")
}
