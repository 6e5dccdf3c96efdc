package toolspecs

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// schemaOfParameters returns the JSON Schema of an object with these properties and no others.
func schemaOfParameters(parameters []Parameter, alsoRequired []string) *jsontext.Object {
	s, properties := jsontext.NewObject(), jsontext.NewObject()
	required := []any{}
	for _, p := range parameters {
		properties.Set(p.Name, schemaOfParameter(p))
		if p.Required {
			required = append(required, p.Name)
		}
	}
	for _, name := range alsoRequired {
		if !containsValue(required, name) {
			required = append(required, name)
		}
	}
	s.Set("type", schemas.TypeObject)
	s.Set("properties", properties)
	if len(required) > 0 {
		s.Set("required", required)
	}
	s.Set("additionalProperties", false)
	return s
}

func containsValue(list []any, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func schemaOfParameter(p Parameter) *jsontext.Object {
	v := p.rules()
	s := jsontext.NewObject()
	setTypes(s, p.types())
	if p.Type == schemas.TypeObject && len(v.Properties) > 0 {
		types := s.Get("type")
		s = schemaOfParameters(v.Properties, v.Required)
		s.Set("type", types)
	} else if len(v.Required) > 0 {
		required := make([]any, len(v.Required))
		for i, name := range v.Required {
			required[i] = name
		}
		s.Set("required", required)
	}
	if p.Description != "" {
		s.Set("description", p.Description)
	}
	if p.Default != nil {
		s.Set("default", schemas.Decode(p.Default))
	}
	v.addTo(s)
	if values, ok := s.Get("enum").([]any); ok && p.nullable() {
		s.Set("enum", append(values, nil))
	}
	return s
}

// setTypes sets the types that a schema allows; none means any.
func setTypes(s *jsontext.Object, types []string) {
	switch len(types) {
	case 0:
	case 1:
		s.Set("type", types[0])
	default:
		s.Set("type", []any{types[0], types[1]})
	}
}

// addTo adds the rules that JSON Schema has keywords for.
func (v Validation) addTo(s *jsontext.Object) {
	if v.Pattern != "" {
		s.Set("pattern", v.Pattern)
	}
	if len(v.Enum) > 0 {
		values := make([]any, len(v.Enum))
		for i, e := range v.Enum {
			values[i] = schemas.Decode(e)
		}
		s.Set("enum", values)
	}
	for _, r := range []struct {
		keyword string
		value   *int
	}{{"minLength", v.MinLength}, {"maxLength", v.MaxLength}, {"minItems", v.MinItems},
		{"maxItems", v.MaxItems}} {
		if r.value != nil {
			s.Set(r.keyword, json.Number(fmt.Sprint(*r.value)))
		}
	}
	if v.Min != nil {
		s.Set("minimum", *v.Min)
	}
	if v.Max != nil {
		s.Set("maximum", *v.Max)
	}
	if v.Items != nil {
		s.Set("items", schemaOfParameter(*v.Items))
	}
}

// shapeOfParameters returns the shape of an object with these properties. types are those of the
// value.
func shapeOfParameters(parameters []Parameter, alsoRequired []string,
	types ...string) *schemas.Shape {
	s := schemas.NewShape(true, types...)
	for _, p := range parameters {
		s.Add(p.Name, shapeOfParameter(p), p.Required || slices.Contains(alsoRequired, p.Name))
	}
	return s
}

func shapeOfParameter(p Parameter) *schemas.Shape {
	s := schemas.NewShape(false, p.types()...)
	v := p.rules()
	if p.Type == schemas.TypeObject && len(v.Properties) > 0 {
		s = shapeOfParameters(v.Properties, v.Required, p.types()...)
	}
	s.SetDefault(p.Default)
	if v.Items != nil {
		s.SetItems(shapeOfParameter(*v.Items))
	}
	if p.Sensitive {
		s.Hide()
	}
	return s
}

// rules returns the parameter's validation, with properties and items that are declared outside of
// it.
func (p Parameter) rules() Validation {
	var v Validation
	if p.Validation != nil {
		v = *p.Validation
	}
	if p.Properties != nil {
		v.Properties = p.Properties
	}
	if p.Items != nil {
		v.Items = p.Items
	}
	return v
}

// typeAny is the type of parameters that accept any value.
const typeAny = "any"

// types returns the types of JSON values that the parameter accepts; none means any. A default of
// null makes null acceptable.
func (p Parameter) types() []string {
	switch {
	case p.Type == typeAny || p.Type == "":
		return nil
	case p.nullable():
		return []string{p.Type, "null"}
	}
	return []string{p.Type}
}

// nullable reports whether the parameter's default is null.
func (p Parameter) nullable() bool { return string(p.Default) == "null" }
