package imports

import (
	"slices"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// whole translates allOf and the keywords beside it into one schema, so that arguments can be read
// from it. Contradicting parts stay a list.
func (t *translator) whole(o *jsontext.Object, parts []any, at string, depth int) *jsontext.Object {
	beside := o.Copy()
	beside.Delete(keyAllOf)
	beside.Delete(keyDefault)
	if parts = slices.Clone(parts); len(beside.Keys) > 0 {
		parts = append(parts, beside)
	}
	var merged *jsontext.Object
	translated := make([]any, 0, len(parts))
	for _, part := range parts {
		s := t.schema(part, at, depth)
		translated = append(translated, s)
		if len(translated) == 1 {
			merged = s.Copy()
			continue
		}
		if merged != nil && !merge(merged, s) {
			merged = nil
		}
	}
	if merged == nil {
		merged = jsontext.NewObject()
		merged.Set(keyAllOf, translated)
	}
	t.own(merged, o, at)
	return merged
}

// own gives a schema's own description, default and nullability precedence over those of its parts.
func (t *translator) own(s, o *jsontext.Object, at string) {
	if nullable(o) {
		allowNull(s)
	}
	told := t.defaultOf(s, o, at)
	if jsontext.Member[string](o, keyDescription) != "" {
		t.describe(s, o, told)
	} else if told != "" {
		s.Set(keyDescription, sentences(jsontext.Member[string](s, keyDescription), told))
	}
}

func allowNull(s *jsontext.Object) {
	types := typesIn(s)
	if len(types) == 0 {
		return
	}
	s.Set(keyType, oneOrMore(withNull(types)))
	if list := jsontext.Member[[]any](s, keyEnum); len(list) > 0 && !slices.Contains(list, nil) {
		s.Set(keyEnum, append(slices.Clone(list), nil))
	}
}

// typesIn returns the types of a translated schema.
func typesIn(s *jsontext.Object) []string {
	if name, ok := s.Get(keyType).(string); ok {
		return []string{name}
	}
	return texts(s.Get(keyType))
}

// merge adds the constraints of more to s and reports false if one schema cannot express both.
func merge(s, more *jsontext.Object) bool {
	for _, key := range more.Names() {
		value := more.Members[key]
		if !s.Has(key) {
			s.Set(key, value)
			continue
		}
		if key == keyDescription || same(s.Members[key], value) {
			continue
		}
		if !mergeKey(s, more, key) {
			return false
		}
	}
	return true
}

func mergeKey(s, more *jsontext.Object, key string) bool {
	switch key {
	case keyType:
		types := common(typesIn(s), typesIn(more))
		s.Set(key, oneOrMore(types))
		return len(types) > 0
	case keyProperties:
		s.Set(key, mergedProperties(jsontext.Member[*jsontext.Object](s, key),
			jsontext.Member[*jsontext.Object](more, key)))
	case keyRequired:
		s.Set(key, union(jsontext.Member[[]any](s, key), jsontext.Member[[]any](more, key)))
	case keyEnum:
		list := slices.DeleteFunc(slices.Clone(jsontext.Member[[]any](s, key)), func(v any) bool {
			return !slices.ContainsFunc(jsontext.Member[[]any](more, key),
				func(w any) bool { return same(v, w) })
		})
		s.Set(key, list)
		return len(list) > 0
	case keyAdditional:
		// Each closed part would reject the other's properties; the intention is their union.
		if s.Get(key) != false && more.Get(key) != false {
			return false
		}
		s.Set(key, false)
	default:
		return false
	}
	return true
}

func union(a, b []any) []any {
	list := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func common(a, b []string) []string {
	var types []string
	for _, name := range a {
		switch {
		case slices.Contains(b, name), name == typeInteger && slices.Contains(b, typeNumber):
			types = append(types, name)
		case name == typeNumber && slices.Contains(b, typeInteger):
			types = append(types, typeInteger)
		}
	}
	return types
}

func mergedProperties(a, b *jsontext.Object) *jsontext.Object {
	all := a.Copy()
	for _, name := range b.Names() {
		first, again := all.Members[name].(*jsontext.Object)
		second, _ := b.Members[name].(*jsontext.Object)
		if !again {
			all.Set(name, second)
			continue
		}
		both := first.Copy()
		if !merge(both, second) {
			both = jsontext.NewObject()
			both.Set(keyAllOf, []any{first, second})
		}
		all.Set(name, both)
	}
	return all
}

// alternatives returns the alternatives of a value. Documents use oneOf loosely, so a value may
// match two.
func alternatives(o *jsontext.Object) ([]any, bool) {
	parts := jsontext.Member[[]any](o, keyAnyOf)
	if len(parts) == 0 {
		parts = jsontext.Member[[]any](o, keyOneOf)
	}
	return parts, len(parts) > 0
}

// choice translates anyOf and oneOf with the keywords beside them.
func (t *translator) choice(o *jsontext.Object, parts []any, at string,
	depth int) *jsontext.Object {
	beside := o.Copy()
	beside.Delete(keyAnyOf)
	beside.Delete(keyOneOf)
	beside.Delete(keyDefault)
	if o.Has(keyAnyOf) && o.Has(keyOneOf) {
		t.notes.add(at, "oneOf beside anyOf is dropped")
	}
	s := t.translated(beside, at, depth)
	forms, null := t.distinct(parts, at, depth)
	null = null || nullable(o)
	if len(forms) == 1 {
		// A nullable value, or a list of one, is not a choice.
		only := forms[0].(*jsontext.Object).Copy()
		if null {
			allowNull(only)
		}
		if both := s.Copy(); merge(both, only) {
			t.own(both, o, at)
			return both
		}
	}
	if null {
		forms = append(forms, nullSchema())
	}
	s.Set(keyAnyOf, forms)
	t.own(s, o, at)
	return s
}

// distinct translates the alternatives of a choice, each once; null reports that one of them is
// null, which is not included.
func (t *translator) distinct(parts []any, at string, depth int) (forms []any, null bool) {
	for _, part := range parts {
		form := t.schema(part, at, depth+1)
		if len(form.Keys) == 1 && form.Get(keyType) == typeNull {
			null = true
			continue
		}
		if !slices.ContainsFunc(forms, func(other any) bool { return same(other, form) }) {
			forms = append(forms, form)
		}
	}
	return forms, null
}

func nullSchema() *jsontext.Object {
	s := jsontext.NewObject()
	s.Set(keyType, typeNull)
	return s
}
