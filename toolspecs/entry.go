package toolspecs

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Entry declares how the tool is executed. In YAML and JSON it is one mapping, of type and the
// fields of the kind.
type Entry struct {
	// Kind has the fields of the tool's kind, such as a RESTEntry; nil if there is no such kind.
	Kind Kind
	// unknown is the type if there is no such kind.
	unknown string
}

// Type returns the name of the kind; empty if the entry has none.
func (e Entry) Type() string {
	if e.Kind == nil {
		return e.unknown
	}
	return e.Kind.Name()
}

// Common returns what is read of the entries of all kinds.
func (e Entry) Common() Common {
	if e.Kind == nil {
		return Common{}
	}
	return e.Kind.Common()
}

// EditEntry changes the entry of a tool of the kind K. It does nothing to tools of other kinds.
// Copies of the spec that were made before stay as they are.
func EditEntry[K Kind](s *Spec, change func(*K)) {
	if fields, ok := s.Entry.Kind.(K); ok {
		change(&fields)
		s.Entry.Kind = fields
	}
}

// MarshalJSON writes the type, then the fields in the order of the kind's struct. Digests of pinned
// tools cover this form.
func (e Entry) MarshalJSON() ([]byte, error) {
	name, err := jsonvalue.Encode(e.Type())
	if err != nil {
		return nil, err
	}
	head := `{"type":` + string(name)
	if e.Kind == nil {
		return []byte(head + "}"), nil
	}
	fields, err := jsonvalue.Encode(e.Kind)
	if err != nil || string(fields) == "{}" {
		return []byte(head + "}"), err
	}
	return append([]byte(head+","), fields[1:]...), nil
}

// Chosen implements strictyaml.Chosen.
func (e Entry) Chosen() (name string, fields any) { return e.Type(), e.Kind }

// takesSlots reports whether calls of a tool take slots of a lane.
func (e Entry) takesSlots() bool { return e.Kind != nil && e.Kind.dispatch().TakesSlots() }

// movesWithCategory reports whether calls of a tool that names no lane go to that of its category:
// those that take slots of a lane, or whose instances are hosted by workers of the lane.
func (e Entry) movesWithCategory() bool {
	return e.takesSlots() || e.Kind != nil && e.Kind.dispatch() == api.DispatchInstance
}

// withoutSlots names a tool's calls in messages about what is only for calls that take slots, with
// the hint to the remedy.
func withoutSlots(e Entry, hint string) (what, remedy string) {
	if k, ok := e.Kind.(slotChooser); ok {
		what, remedy = k.withoutSlots()
		return what, remedy + ", or " + hint
	}
	return "the kind " + e.Type(), hint
}

// isScheduled reports whether a run schedules the calls of a tool as activities, so that it can
// schedule them again, verify them, and make them itself.
func (e Entry) isScheduled() bool { return e.Kind != nil && e.Kind.dispatch().Schedules() }
