package toolspecs

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// parameters checks a list of named parameters.
func (c *checker) parameters(path string, list []Parameter) {
	first := map[string]string{}
	for i, p := range list {
		at := jsonpath.Index(path, i)
		key := schemas.FoldKey(p.Name)
		switch other, taken := first[key]; {
		case p.Name == "":
			c.Add(at, "write name: …", "the parameter has no name")
		case taken && other == p.Name:
			c.Add(at+".name", "rename or remove one", "there is another parameter %q in this list",
				p.Name)
		case taken:
			c.Add(at+".name", "rename one", "%q and %q differ only by letter case", p.Name, other)
		}
		first[key] = p.Name
		if p.Required && p.Default != nil {
			c.AddKey(at+".default", "remove required or the default",
				"a required parameter cannot have a default")
		}
		c.parameter(at, p)
	}
}

// checkUnnamed checks a declaration of a value without a name: the elements of an array, or the
// output.
func (c *checker) checkUnnamed(path string, p Parameter) {
	given := []struct {
		name string
		set  bool
	}{{"name", p.Name != ""}, {"required", p.Required}, {"default", p.Default != nil}}
	for _, g := range given {
		if g.set {
			c.AddKey(path+"."+g.name, "remove it", "%s has no meaning here", g.name)
		}
	}
	c.parameter(path, p)
}

func (c *checker) parameter(path string, p Parameter) {
	if p.Type == "" {
		c.Add(path, "write type: string, number, integer, boolean, array, object or any",
			"the type is missing")
		return
	}
	if p.Type != typeAny && !slices.Contains(schemas.Types, p.Type) {
		return
	}
	before := len(c.All)
	var v Validation
	if p.Validation != nil {
		v = *p.Validation
	}
	c.validation(path+".validation", p.Type, v)
	c.beside(path, p, v)
	if len(c.All) == before {
		c.defaultAndEnum(path, p)
	}
}

// beside checks the properties and items that are declared outside of validation.
func (c *checker) beside(path string, p Parameter, v Validation) {
	outside := Validation{Properties: p.Properties, Items: p.Items, Required: v.Required}
	for _, name := range outside.given() {
		if name == "required" {
			continue
		}
		if slices.Contains(v.given(), name) {
			c.AddKey(path+"."+name, "keep one of them", "%s is declared here and in validation",
				name)
		}
		c.checkRuleType(path+"."+name, name, p.Type)
	}
	if p.Items != nil {
		c.checkUnnamed(path+".items", *p.Items)
	}
	c.parameters(path+".properties", p.Properties)
	if p.Properties != nil {
		c.requiredNames(path+".validation", outside)
	}
}

// checkRuleType checks that a rule applies to a type.
func (c *checker) checkRuleType(path, rule, typ string) {
	if fit := ruleTypes[rule]; !slices.Contains(fit, typ) {
		c.AddKey(path, fmt.Sprintf("%s is for %s", rule, strings.Join(fit, " and ")),
			"the rule %s does not fit the type %s", rule, typ)
	}
}

// ruleTypes maps each validation rule to the types that it applies to.
var ruleTypes = map[string][]string{
	"pattern": {schemas.TypeString}, "min_length": {schemas.TypeString},
	"max_length": {schemas.TypeString},
	"enum":       {schemas.TypeString, schemas.TypeNumber, schemas.TypeInteger},
	"min":        {schemas.TypeNumber, schemas.TypeInteger}, "max": {schemas.TypeNumber,
		schemas.TypeInteger},
	"items": {schemas.TypeArray}, "min_items": {schemas.TypeArray},
	"max_items":  {schemas.TypeArray},
	"properties": {schemas.TypeObject}, "required": {schemas.TypeObject},
}

func (v Validation) given() []string {
	all := []struct {
		name string
		set  bool
	}{
		{"pattern", v.Pattern != ""}, {"min_length", v.MinLength != nil},
		{"max_length", v.MaxLength != nil},
		{"enum", v.Enum != nil}, {"min", v.Min != nil}, {"max", v.Max != nil},
		{"items", v.Items != nil},
		{"min_items", v.MinItems != nil}, {"max_items", v.MaxItems != nil},
		{"properties", v.Properties != nil}, {"required", v.Required != nil},
	}
	var names []string
	for _, r := range all {
		if r.set {
			names = append(names, r.name)
		}
	}
	return names
}

func (c *checker) validation(path, typ string, v Validation) {
	for _, name := range v.given() {
		c.checkRuleType(path+"."+name, name, typ)
	}
	if _, err := regexp.Compile(v.Pattern); err != nil {
		c.Add(path+".pattern", schemas.HintRegex, "the pattern is not a regular expression: %v",
			err)
	}
	schemas.CheckBounds(&c.Findings, path, "min_length", "max_length", number(v.MinLength),
		number(v.MaxLength))
	schemas.CheckBounds(&c.Findings, path, "min_items", "max_items", number(v.MinItems),
		number(v.MaxItems))
	schemas.CheckBounds(&c.Findings, path, "min", "max", schemas.Rational(v.Min),
		schemas.Rational(v.Max))
	if v.Items != nil {
		c.checkUnnamed(path+".items", *v.Items)
	}
	c.parameters(path+".properties", v.Properties)
	c.requiredNames(path, v)
}

// requiredNames checks that an object's required list names declared properties.
func (c *checker) requiredNames(path string, v Validation) {
	var names []string
	for _, p := range v.Properties {
		names = append(names, p.Name)
	}
	for i, name := range v.Required {
		at := jsonpath.Index(path+".required", i)
		switch j := slices.Index(names, name); {
		case j < 0 && len(names) > 0:
			c.Add(at, spelling.Hint(name, names), "there is no property %q", name)
		case j >= 0 && v.Properties[j].Default != nil:
			c.Add(at, "remove it here, or the default",
				"%q is required, so it cannot have a default", name)
		}
	}
}

func number(n *int) *big.Rat {
	if n == nil {
		return nil
	}
	return new(big.Rat).SetInt64(int64(*n))
}

// defaultAndEnum checks the default and enum values of a parameter against its other rules, which
// are valid.
func (c *checker) defaultAndEnum(path string, p Parameter) {
	c.enum(path+".validation.enum", p)
	if p.Default == nil {
		return
	}
	if p.Sensitive {
		c.AddKey(path+".default", "remove it; the tool can read the value on the worker",
			"a sensitive parameter cannot have a default, because toolspecs are not secret")
		return
	}
	if p.nullable() {
		return
	}
	bare := p
	bare.Default = nil
	c.conform(func(int) string { return path + ".default" }, "correct or remove the default",
		"the default violates its own rule", bare, p.Default)
}

func (c *checker) enum(path string, p Parameter) {
	rules := p.rules()
	values := rules.Enum
	rules.Enum = nil
	p.Validation, p.Default = &rules, nil
	seen := map[string]bool{}
	for i, e := range values {
		if seen[string(e)] {
			c.Add(jsonpath.Index(path, i), "remove it", "the value is in the list already")
		}
		seen[string(e)] = true
	}
	if len(values) > 0 {
		c.conform(func(i int) string { return jsonpath.Index(path, i) },
			"correct or remove the value", "the value violates the parameter's other rules", p,
			values...)
	}
}

// conform reports the values that break the rules of p, each at its place.
func (c *checker) conform(place func(i int) string, hint, what string, p Parameter,
	values ...json.RawMessage) {
	form, _, err := schemas.Compile(schemas.Encode(schemaOfParameter(p)), shapeOfParameter(p),
		nil)
	if err != nil {
		c.Add(place(0), "", "the rules cannot be compiled: %v", err)
		return
	}
	for i, raw := range values {
		at := place(i)
		value, jsonErr := jsontext.Parse(string(raw))
		if jsonErr != nil {
			c.Add(at, hint, "the value is not usable JSON: %v", jsonErr)
			continue
		}
		for _, problem := range form.Values(value) {
			c.Add(at, hint, "%s: %s", what, schemas.Inside(problem))
		}
	}
}
