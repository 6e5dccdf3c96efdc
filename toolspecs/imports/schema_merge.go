package imports

import (
	"slices"
)

// whole translates allOf together with what stands beside it into one schema, so that the arguments of a call can be read
// off it. Parts that contradict each other stay a list.
func (t *translator) whole(o *object, parts []any, at string, depth int) *object {
	beside := o.copied()
	beside.drop(keyAllOf)
	beside.drop(keyDefault)
	if parts = slices.Clone(parts); len(beside.keys) > 0 {
		parts = append(parts, beside)
	}
	var merged *object
	translated := make([]any, 0, len(parts))
	for _, part := range parts {
		s := t.schema(part, at, depth)
		translated = append(translated, s)
		if len(translated) == 1 {
			merged = s.copied()
			continue
		}
		if merged != nil && !merge(merged, s) {
			merged = nil
		}
	}
	if merged == nil {
		merged = newObject()
		merged.set(keyAllOf, translated)
	}
	t.own(merged, o, at)
	return merged
}

// own lets what a schema says itself win over what its parts say: its description, its default and that it may be null.
func (t *translator) own(s, o *object, at string) {
	if nullable(o) {
		allowNull(s)
	}
	told := t.defaultOf(s, o, at)
	if as[string](o, keyDescription) != "" {
		t.describe(s, o, told)
	} else if told != "" {
		s.set(keyDescription, sentences(as[string](s, keyDescription), told))
	}
}

func allowNull(s *object) {
	types := typesIn(s)
	if len(types) == 0 {
		return
	}
	s.set(keyType, oneOrMore(withNull(types)))
	if list := as[[]any](s, keyEnum); len(list) > 0 && !slices.Contains(list, nil) {
		s.set(keyEnum, append(slices.Clone(list), nil))
	}
}

// typesIn returns the types of a translated schema.
func typesIn(s *object) []string {
	if name, ok := s.get(keyType).(string); ok {
		return []string{name}
	}
	return texts(s.get(keyType))
}

// merge makes s hold what more says as well, and reports false where one schema cannot say both.
func merge(s, more *object) bool {
	for _, key := range more.names() {
		value := more.values[key]
		if !s.has(key) {
			s.set(key, value)
			continue
		}
		if key == keyDescription || same(s.values[key], value) {
			continue
		}
		if !mergeKey(s, more, key) {
			return false
		}
	}
	return true
}

func mergeKey(s, more *object, key string) bool {
	switch key {
	case keyType:
		types := common(typesIn(s), typesIn(more))
		s.set(key, oneOrMore(types))
		return len(types) > 0
	case keyProperties:
		s.set(key, mergedProperties(as[*object](s, key), as[*object](more, key)))
	case keyRequired:
		s.set(key, union(as[[]any](s, key), as[[]any](more, key)))
	case keyEnum:
		list := slices.DeleteFunc(slices.Clone(as[[]any](s, key)), func(v any) bool {
			return !slices.ContainsFunc(as[[]any](more, key), func(w any) bool { return same(v, w) })
		})
		s.set(key, list)
		return len(list) > 0
	case keyAdditional:
		// Each part that closes itself would refuse the other's properties; what is meant is the two together.
		if s.get(key) != false && more.get(key) != false {
			return false
		}
		s.set(key, false)
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

func mergedProperties(a, b *object) *object {
	all := a.copied()
	for _, name := range b.names() {
		first, again := all.values[name].(*object)
		second, _ := b.values[name].(*object)
		if !again {
			all.set(name, second)
			continue
		}
		both := first.copied()
		if !merge(both, second) {
			both = newObject()
			both.set(keyAllOf, []any{first, second})
		}
		all.set(name, both)
	}
	return all
}

// alternatives returns the forms of which a value has one. What a document lists under oneOf is not always kept apart
// there, so that a value may well fit two.
func alternatives(o *object) ([]any, bool) {
	parts := as[[]any](o, keyAnyOf)
	if len(parts) == 0 {
		parts = as[[]any](o, keyOneOf)
	}
	return parts, len(parts) > 0
}

// choice translates anyOf and oneOf together with what stands beside them.
func (t *translator) choice(o *object, parts []any, at string, depth int) *object {
	beside := o.copied()
	beside.drop(keyAnyOf)
	beside.drop(keyOneOf)
	beside.drop(keyDefault)
	if o.has(keyAnyOf) && o.has(keyOneOf) {
		t.notes.add(at, "oneOf stands beside anyOf, and is dropped")
	}
	s := t.translated(beside, at, depth)
	forms, null := t.distinct(parts, at, depth)
	null = null || nullable(o)
	if len(forms) == 1 {
		// A value that may be null, or a list of one: there is no choice.
		only := forms[0].(*object).copied()
		if null {
			allowNull(only)
		}
		if both := s.copied(); merge(both, only) {
			t.own(both, o, at)
			return both
		}
	}
	if null {
		forms = append(forms, nullSchema())
	}
	s.set(keyAnyOf, forms)
	t.own(s, o, at)
	return s
}

// distinct translates the forms of a choice, each once; null says that one of them is null, which is not among them.
func (t *translator) distinct(parts []any, at string, depth int) (forms []any, null bool) {
	for _, part := range parts {
		form := t.schema(part, at, depth+1)
		if len(form.keys) == 1 && form.get(keyType) == typeNull {
			null = true
			continue
		}
		if !slices.ContainsFunc(forms, func(other any) bool { return same(other, form) }) {
			forms = append(forms, form)
		}
	}
	return forms, null
}

func nullSchema() *object {
	s := newObject()
	s.set(keyType, typeNull)
	return s
}
