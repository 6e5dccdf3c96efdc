package toolspecs

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// kinds maps entry.type to the kind of tool, as an empty entry.
var kinds = kindsByName(
	FunctionEntry{},
	StatefulEntry{},
	CommandEntry{},
	RESTEntry{},
	MCPEntry{},
	AgentEntry{},
	HumanEntry{},
	PlanEntry{},
)

// olderKinds maps old names of kinds, which are still accepted, to the present ones.
var olderKinds = map[string]string{"builtin": KindFunction, "external": KindCommand,
	"custom": KindStateful}

func kindsByName(list ...Kind) map[string]Kind {
	byName := map[string]Kind{}
	for _, k := range list {
		byName[k.Name()] = k
	}
	return byName
}

// kindNames returns the names of the kinds, sorted.
func kindNames() []string { return slices.Sorted(maps.Keys(kinds)) }

// slotKinds returns the names of the kinds whose calls can take slots of a lane, sorted.
func slotKinds() []string {
	return slices.DeleteFunc(kindNames(), func(name string) bool {
		_, chooses := kinds[name].(slotChooser)
		return !chooses && !kinds[name].dispatch().TakesSlots()
	})
}

// scheduledKinds returns the names of the kinds whose calls are scheduled, sorted.
func scheduledKinds() []string {
	return slices.DeleteFunc(kindNames(),
		func(name string) bool { return !kinds[name].dispatch().Schedules() })
}

var (
	_ strictyaml.Variant = (*Entry)(nil)
	_ strictyaml.Chosen  = Entry{}
)

// UnmarshalJSON implements json.Unmarshaler.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var named struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &named); err != nil {
		return err
	}
	fields := e.Choose(named.Type)
	if fields == nil {
		return nil
	}
	if err := json.Unmarshal(data, fields); err != nil {
		return err
	}
	e.Take(fields)
	return nil
}

// Types implements strictyaml.Variant.
func (*Entry) Types() []string {
	return slices.Concat(kindNames(), slices.Sorted(maps.Keys(olderKinds)))
}

// Choose implements strictyaml.Variant.
func (e *Entry) Choose(name string) any {
	if present, older := olderKinds[name]; older {
		name = present
	}
	k, known := kinds[name]
	if !known {
		*e = Entry{unknown: name}
		return nil
	}
	return reflect.New(reflect.TypeOf(k)).Interface()
}

// Take implements strictyaml.Variant.
func (e *Entry) Take(fields any) {
	*e = Entry{Kind: reflect.ValueOf(fields).Elem().Interface().(Kind)}
}

// Refuse implements strictyaml.Variant.
func (e *Entry) Refuse(field string) (message, hint string) {
	others := kindsWith(field)
	switch {
	case len(others) == 0:
		return fmt.Sprintf("unknown field %q", field), spelling.Hint(field, e.fieldNames())
	case e.Kind == nil: // The type is reported.
		return "", ""
	}
	return foreignFault(field, others, e.Type())
}

// foreignFault returns the fault of a field that only other kinds have.
func foreignFault(field string, others []string, kind string) (message, hint string) {
	return fmt.Sprintf("%s is for the kind %s, not for %s", field, strings.Join(others, " or "),
		kind), "remove it, or change the type"
}

// kindsWith returns the names of the kinds that have a field, sorted.
func kindsWith(field string) []string {
	return slices.DeleteFunc(kindNames(), func(name string) bool {
		return !slices.Contains(strictyaml.FieldNames(kinds[name]), field)
	})
}

// fieldNames returns the names of the fields of the entry; without a kind, those of all kinds.
func (e *Entry) fieldNames() []string {
	if e.Kind != nil {
		return append([]string{"type"}, strictyaml.FieldNames(e.Kind)...)
	}
	all := map[string]bool{}
	for _, k := range kinds {
		for _, field := range strictyaml.FieldNames(k) {
			all[field] = true
		}
	}
	return append([]string{"type"}, slices.Sorted(maps.Keys(all))...)
}
