package strictyaml

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// rule is the parsed rule tag of a field: `rule:"required"`, `rule:"enum=a|b"`,
// `rule:"min=1,max=9"` (numbers or durations), `rule:"above=0s"`. On a list, enum applies to
// elements, min and max to its length; on a map with free keys, all apply to values. Faults never
// quote the value of a field with `rule:"secret"`. In a list of structs with `rule:"short=name"`, a
// scalar sets only the field name. A list of structs with `rule:"keyed=name"` may be a mapping,
// whose keys set the field name. A number with `rule:"size"` may have a unit of bytes, as bounds
// may. A list with `rule:"unique"` has no equal texts.
//
// A pattern tag is a regular expression that texts, or the texts of a list, match, and after a
// blank what faults say of others, with %q for the text: `pattern:"^[a-z]+$ %q is not a word"`.
type rule struct {
	required bool
	secret   bool
	enum     []string
	min, max bound
	above    bound
	// short is the field that a scalar sets in place of the mapping.
	short string
	// keyed is the field that the keys set where a list is written as a mapping.
	keyed string
	// size is set for numbers of bytes, which may have a unit, such as 4MiB.
	size bool
	// unique is set for lists without equal elements.
	unique bool
	// pattern is that of texts, and complaint what faults say of others.
	pattern, complaint string
}

// bound is a limit for numbers, or for durations in nanoseconds; text is as written in the tag.
type bound struct {
	set   bool
	value float64
	text  string
}

func parseRule(tag string) rule {
	var r rule
	for part := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(part, "=")
		r.set(key, value)
	}
	return r
}

// set sets one part of a rule.
func (r *rule) set(key, value string) {
	flags := map[string]*bool{"required": &r.required, "secret": &r.secret, "size": &r.size,
		"unique": &r.unique}
	bounds := map[string]*bound{"min": &r.min, "max": &r.max, "above": &r.above}
	texts := map[string]*string{"short": &r.short, "keyed": &r.keyed}
	switch {
	case flags[key] != nil:
		*flags[key] = true
	case bounds[key] != nil:
		*bounds[key] = parseBound(value)
	case texts[key] != nil:
		*texts[key] = value
	case key == "enum":
		r.enum = strings.Split(value, "|")
	}
}

func parseBound(text string) bound {
	if d, err := time.ParseDuration(text); err == nil && text != "0" {
		return bound{true, float64(d), text}
	}
	f, err := strconv.ParseFloat(text, 64)
	if size, ok := parseSize(text); ok {
		f, err = float64(size), nil
	}
	if err != nil {
		panic("rule tag with a bound that is no number, duration or size: " + text)
	}
	return bound{true, f, text}
}

// sizeUnits are the units of sizes.
var sizeUnits = []struct {
	name  string
	bytes int
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6},
	{"GB", 1e9}, {"B", 1}}

// parseSize returns the bytes of a whole number with a unit, such as 512KiB or 4 MiB.
func parseSize(text string) (bytes int, ok bool) {
	for _, u := range sizeUnits {
		number, found := strings.CutSuffix(text, u.name)
		if !found {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(number))
		return n * u.bytes, err == nil && n >= 0 && n <= math.MaxInt/u.bytes
	}
	return 0, false
}

// field is one field of a struct as YAML sees it.
type field struct {
	name  string
	index []int
	rule  rule
	// remedy is the field's hint tag: how to fix a value that violates the rule.
	remedy string
}

// element returns the field that describes the elements of a list.
func (f *field) element() *field {
	return &field{name: f.name, remedy: f.remedy, rule: rule{enum: f.rule.enum,
		short: f.rule.short, pattern: f.rule.pattern, complaint: f.rule.complaint}}
}

type fieldSet struct {
	names  []string
	byName map[string]*field
}

// fieldSets caches loadFields by type.
var fieldSets sync.Map

// loadFields returns the fields of a struct type, those of embedded structs included. A field of
// the
// outer struct hides an embedded one of the same name.
func loadFields(t reflect.Type) *fieldSet {
	if known, ok := fieldSets.Load(t); ok {
		return known.(*fieldSet)
	}
	set := &fieldSet{byName: map[string]*field{}}
	for _, sf := range reflect.VisibleFields(t) {
		name := fieldName(sf)
		if name == "" {
			continue
		}
		if _, hidden := set.byName[name]; hidden && len(sf.Index) > 1 {
			continue
		}
		if set.byName[name] == nil {
			set.names = append(set.names, name)
		}
		f := &field{name: name, index: sf.Index, rule: parseRule(sf.Tag.Get("rule")),
			remedy: sf.Tag.Get("hint")}
		f.rule.pattern, f.rule.complaint, _ = strings.Cut(sf.Tag.Get("pattern"), " ")
		set.byName[name] = f
	}
	fieldSets.Store(t, set)
	return set
}

func fieldName(sf reflect.StructField) string {
	if sf.Anonymous || !sf.IsExported() {
		return ""
	}
	tag, ok := sf.Tag.Lookup("yaml")
	if !ok {
		tag = sf.Tag.Get("json")
	}
	name, _, _ := strings.Cut(tag, ",")
	if name == "-" {
		return ""
	}
	return name
}
