package jsontext

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Merge returns target with a JSON merge patch applied, as RFC 7396, section 2, defines it. Values
// are those that Parse returns; neither is changed.
func Merge(target, patch any) any {
	changes, isObject := patch.(map[string]any)
	if !isObject {
		return patch
	}
	old, _ := target.(map[string]any)
	merged := maps.Clone(old)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(merged, name)
		} else {
			merged[name] = Merge(merged[name], value)
		}
	}
	return merged
}

// Difference is a part that two values do not share.
type Difference struct {
	// Path are the names that lead to the part.
	Path          []string
	Before, After any
	// Added says that there was no Before, Removed that there is no After.
	Added, Removed bool
}

// Name is the path as people read it, such as message.to.
func (d Difference) Name() string { return Name(d.Path) }

// Name returns a path of names as people read it, such as message.to or message["to.cc"].
func Name(path []string) string {
	text := ""
	for _, name := range path {
		text = jsonvalue.KeyPath(text, name)
	}
	return strings.TrimPrefix(text, ".")
}

// Differences returns how after differs from before, in the order of the names. Members of objects
// are compared one by one, all other values as a whole. Values are those that Parse returns.
func Differences(before, after any) []Difference { return differences(nil, before, after) }

func differences(path []string, before, after any) (found []Difference) {
	old, wasObject := before.(map[string]any)
	now, isObject := after.(map[string]any)
	if !wasObject || !isObject {
		if !reflect.DeepEqual(before, after) {
			found = []Difference{{Path: path, Before: before, After: after}}
		}
		return found
	}
	names := slices.Concat(slices.Collect(maps.Keys(old)), slices.Collect(maps.Keys(now)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		at := append(slices.Clone(path), name)
		was, had := old[name]
		is, has := now[name]
		if had && has {
			found = append(found, differences(at, was, is)...)
		} else {
			found = append(found, Difference{at, was, is, !had, !has})
		}
	}
	return found
}
