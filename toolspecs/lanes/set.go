// Package lanes reads lanes.yaml: the lanes of an installation and their rules.
package lanes

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/templates"
)

// Defaults of a lane's rules.
const (
	// defaultHolders is the default maximum number of groups that a limit is divided into,
	// defaultKeyHolders the default number of groups of a keyed lane's keys.
	defaultHolders    = 4
	defaultKeyHolders = 4
)

// Set is an immutable set of lanes, including the built-in ones.
type Set struct {
	byName     map[string]api.Lane
	byCategory map[string]string
}

// NewSet returns the lanes that always exist and the given ones, with their defaults filled in. Of
// two lanes of one name, and of two that are the default of one category, the last one counts:
// Decode is what refuses them.
func NewSet(given ...api.Lane) *Set {
	s := &Set{byName: map[string]api.Lane{
		api.LaneGeneral: WithDefaults(api.Lane{Name: api.LaneGeneral}),
		api.LaneSerial:  WithDefaults(api.Lane{Name: api.LaneSerial}),
		api.LaneInline:  WithDefaults(api.Lane{Name: api.LaneInline}),
	}, byCategory: map[string]string{}}
	for _, l := range given {
		s.byName[l.Name] = WithDefaults(l)
		for _, c := range l.Categories {
			s.byCategory[c] = l.Name
		}
	}
	return s
}

// Plain returns the lanes of s and lanes without rules of those names that s does not have.
func (s *Set) Plain(names ...string) *Set {
	more := &Set{byName: maps.Clone(s.byName), byCategory: s.byCategory}
	for _, name := range names {
		if _, there := more.byName[name]; !there {
			more.byName[name] = WithDefaults(api.Lane{Name: name})
		}
	}
	return more
}

// Merge returns the lanes of s and those of before that s does not have, and the names of the
// latter, sorted.
func (s *Set) Merge(before *Set) (all *Set, kept []string) {
	all = &Set{byName: maps.Clone(s.byName), byCategory: s.byCategory}
	for _, name := range before.Names() {
		if _, there := all.byName[name]; !there {
			all.byName[name] = before.byName[name]
			kept = append(kept, name)
		}
	}
	return all, kept
}

// WithDefaults returns a lane with every default filled in; a second time changes nothing.
func WithDefaults(l api.Lane) api.Lane {
	l.Strategy = cmp.Or(l.Strategy, api.StrategyPriority)
	l.Fairness = cmp.Or(l.Fairness, api.FairnessConversation)
	if l.HasKey() || l.Name == api.LaneSerial {
		l.Limit = cmp.Or(l.Limit, 1)
	}
	if !l.HasLimit() {
		return l
	}
	l.OnLostLease = cmp.Or(l.OnLostLease, api.OnLostLeaseExit)
	l.Lease = cmp.Or(l.Lease, api.DefaultLease)
	switch {
	case l.HasKey():
		l.Holders = cmp.Or(l.Holders, defaultKeyHolders)
	case l.UsesWaitQueue():
		l.Holders = 1 // one place decides who waits
	default:
		l.Holders = cmp.Or(l.Holders, min(l.Limit, defaultHolders))
	}
	return l
}

// Lane returns the lane of that name, and whether there is one.
func (s *Set) Lane(name string) (api.Lane, bool) {
	l, ok := s.byName[name]
	return l, ok
}

// Names returns the names of the lanes, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }

// All returns the lanes, sorted by name.
func (s *Set) All() []api.Lane {
	var all []api.Lane
	for _, name := range s.Names() {
		all = append(all, s.byName[name])
	}
	return all
}

// ForCategory returns the lane that tools of a category have by default, and whether there is one.
func (s *Set) ForCategory(category string) (string, bool) {
	name, ok := s.byCategory[category]
	return name, ok
}

// Key returns a call's key on a keyed lane. The error is a validation_error if an argument of the
// key is absent.
func Key(l api.Lane, arguments json.RawMessage) (string, *api.Error) {
	values, err := templates.Values(arguments)
	if err != nil {
		return "", api.AsError(err)
	}
	for _, name := range templates.Names(l.Key) {
		if _, given := values[name]; !given {
			e := api.Errorf(api.ErrValidation, "the lane %s needs the argument %s", l.Name, name)
			e.Problems = []api.Problem{{Path: "$." + name, Rule: api.RuleRequired,
				Message: "the lane " + l.Name + " has a queue for each " + l.Key +
					", so the call must say which"}}
			e.Phase = api.PhasePreValidation
			return "", e
		}
	}
	key, _ := templates.Text(l.Key, values)
	return key, nil
}
