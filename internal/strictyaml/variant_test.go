package strictyaml

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type circle struct {
	Radius int `yaml:"radius" rule:"required,min=1"`
}

type square struct {
	Side  int    `yaml:"side"`
	Label string `yaml:"label"`
}

// shape is a circle or a square.
type shape struct {
	fields  any
	unknown string
}

func (s *shape) Types() []string { return []string{"circle", "square"} }

func (s *shape) Choose(name string) any {
	s.unknown = name
	return map[string]any{"circle": &circle{}, "square": &square{}}[name]
}

func (s *shape) Take(fields any) { s.fields = reflect.ValueOf(fields).Elem().Interface() }

func (s *shape) Refuse(field string) (message, hint string) {
	if s.fields == nil && field == "side" {
		return "", ""
	}
	return fmt.Sprintf("%T has no %s", s.fields, field), "remove it"
}

func (s shape) Chosen() (name string, fields any) {
	return strings.TrimPrefix(fmt.Sprintf("%T", s.fields), "strictyaml."), s.fields
}

type drawing struct {
	Shape  shape   `yaml:"shape" rule:"required"`
	Shapes []shape `yaml:"shapes"`
}

// The field type decides which struct the others are decoded into, by its rules.
func TestVariant_IsDecodedByItsType(t *testing.T) {
	for text, want := range map[string]string{
		"shape: {radius: 2, type: circle}":  "{circle 2}",
		"shape: {type: circle}":             "f.yaml:1:8: radius is missing",
		"shape: {type: circle, radius: -1}": "f.yaml:1:31: radius is -1; the minimum is 1",
		"shape: {type: square, radius: 1}":  "f.yaml:1:23: strictyaml.square has no radius (remove it)",
		"shape: {side: 1, size: 2}": "f.yaml:1:8: type is missing\n" +
			"f.yaml:1:18: <nil> has no size (remove it)",
		"shape: {type: oval, side: 1}":                         "{<nil>}",
		"shape: {type: [circle]}":                              "f.yaml:1:15: this must be text, not a list",
		"shape: circle":                                        "f.yaml:1:8: this must be a mapping, not the text \"circle\"",
		"shapes: [{type: square, side: 1, <<: &b {label: x}}]": "f.yaml:1:1: shape is missing",
	} {
		doc, faults := ParseOne("f.yaml", []byte(text), 1<<10)
		if err := faults.Err(); err != nil {
			t.Fatal(err)
		}
		var d drawing
		doc.Decode(&d)
		got := fmt.Sprintf("%T", d.Shape.fields)
		if c, ok := d.Shape.fields.(circle); ok {
			got = fmt.Sprint("circle ", c.Radius)
		}
		got = "{" + got + "}"
		if err := doc.Faults().Err(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestCheck_AppliesTheRulesOfTheChosenStruct(t *testing.T) {
	problems := Check(drawing{Shape: shape{fields: circle{-1}},
		Shapes: []shape{{fields: square{}}, {}}})
	if len(problems) != 1 || problems[0].Path != "$.shape.radius" ||
		problems[0].Message != "radius is -1; the minimum is 1" {
		t.Errorf("got %v", problems)
	}
}
