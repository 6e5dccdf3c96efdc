package imports

import (
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// fit shortens the schemas of a tool's arguments until they have at most most bytes together, and
// returns what it did by argument. The largest schema loses its deepest level first, then long
// descriptions, so that small arguments stay complete. Very many arguments may not fit.
func fit(members *jsontext.Object, most int) (shortened []string) {
	sizes, state := map[string]int{}, map[string]*shortening{}
	total := 0
	for _, name := range members.Names() {
		sizes[name] = len(name) + len(encoded(members.Members[name]))
		total += sizes[name]
	}
	for total > most {
		name := largest(members, sizes, state)
		if name == "" {
			break
		}
		s := state[name]
		if s == nil {
			s = &shortening{depth: depthOf(members.Members[name]), words: 2 * wordSteps[0]}
			state[name] = s
		}
		s.step()
		members.Set(name, s.apply(members.Members[name]))
		size := len(name) + len(encoded(members.Members[name]))
		total += size - sizes[name]
		sizes[name] = size
	}
	for _, name := range members.Names() {
		if state[name] != nil {
			shortened = append(shortened, name)
		}
	}
	return shortened
}

// shortening is how much of an argument is kept: how deep its values nest, how long its
// descriptions are.
type shortening struct{ depth, words int }

// wordSteps are the lengths of descriptions that are tried, in characters.
var wordSteps = []int{120, 60, 30}

// least is the minimum depth while descriptions can still be shortened: an argument and its direct
// members.
const least = 2

func (s *shortening) step() {
	if s.depth > least {
		s.depth--
		return
	}
	for _, words := range wordSteps {
		if words < s.words {
			s.words = words
			return
		}
	}
	s.depth--
}

func (s *shortening) done() bool { return s != nil && s.depth <= 0 }

// largest returns the name of the largest argument that can be shortened further.
func largest(members *jsontext.Object, sizes map[string]int, state map[string]*shortening) string {
	name := ""
	for _, candidate := range members.Names() {
		if !state[candidate].done() && (name == "" || sizes[candidate] > sizes[name]) {
			name = candidate
		}
	}
	return name
}

// depthOf is how deep the schemas of a value nest.
func depthOf(value any) int {
	deepest := 0
	eachNested(value, func(inner any) any {
		deepest = max(deepest, depthOf(inner))
		return inner
	})
	if _, ok := value.(*jsontext.Object); ok {
		return deepest + 1
	}
	return deepest
}

// apply returns the schema with deeper levels unconstrained and descriptions cut.
func (s *shortening) apply(value any) any { return s.at(value, s.depth) }

func (s *shortening) at(value any, depth int) any {
	o, ok := value.(*jsontext.Object)
	if !ok {
		return value
	}
	if depth <= 1 && nests(o) {
		open := jsontext.NewObject()
		for _, key := range []string{keyType, keyDescription} {
			if o.Has(key) {
				open.Set(key, o.Members[key])
			}
		}
		o = open
	} else {
		o = eachNested(o, func(inner any) any { return s.at(inner, depth-1) }).(*jsontext.Object)
	}
	if text := jsontext.Member[string](o, keyDescription); text != "" {
		o = o.Copy()
		o.Set(keyDescription, cut(text, s.words))
	}
	return o
}

// eachNested returns a copy of a schema with every schema directly in it changed.
func eachNested(value any, change func(any) any) any {
	o, ok := value.(*jsontext.Object)
	if !ok {
		return value
	}
	c := o.Copy()
	for _, key := range o.Keys {
		if how, deep := nested[key]; deep {
			c.Set(key, changed(o.Members[key], how, change))
		}
	}
	return c
}

// changed returns the value of a keyword with every schema in it changed.
func changed(value any, how int, change func(any) any) any {
	o, _ := value.(*jsontext.Object)
	list, _ := value.([]any)
	switch {
	case how == holdsOne && o != nil:
		return change(o)
	case how == holdsNamed && o != nil:
		members := o.Copy()
		for _, name := range o.Keys {
			members.Set(name, change(o.Members[name]))
		}
		return members
	case how == holdsList && list != nil:
		list = slices.Clone(list)
		for i := range list {
			list[i] = change(list[i])
		}
		return list
	}
	return value
}

// listed names a few of several things.
func listed(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
