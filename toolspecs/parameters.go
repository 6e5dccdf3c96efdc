package toolspecs

import (
	"encoding/json"
	"fmt"

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
	s.Set("type", p.Type)
	if p.Type == schemas.TypeObject && len(v.Properties) > 0 {
		s = schemaOfParameters(v.Properties, v.Required)
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
		s.Set("default", schemas.Decoded(p.Default))
	}
	v.addTo(s)
	return s
}

// addTo adds the rules that JSON Schema has keywords for.
func (v Validation) addTo(s *jsontext.Object) {
	if v.Pattern != "" {
		s.Set("pattern", v.Pattern)
	}
	if len(v.Enum) > 0 {
		values := make([]any, len(v.Enum))
		for i, e := range v.Enum {
			values[i] = schemas.Decoded(e)
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

// shapeOfParameters returns the shape of an object with these properties.
func shapeOfParameters(parameters []Parameter) *schemas.Shape {
	s := schemas.NewShape(schemas.TypeObject, true)
	for _, p := range parameters {
		s.Add(p.Name, shapeOfParameter(p))
	}
	return s
}

func shapeOfParameter(p Parameter) *schemas.Shape {
	s := schemas.NewShape(p.Type, false)
	v := p.rules()
	if p.Type == schemas.TypeObject && len(v.Properties) > 0 {
		s = shapeOfParameters(v.Properties)
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

// rules returns the parameter's validation, or an empty one.
func (p Parameter) rules() Validation {
	if p.Validation == nil {
		return Validation{}
	}
	return *p.Validation
}
