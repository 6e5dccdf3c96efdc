package toolspecs

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// Catalog is an immutable set of compiled tools with distinct names.
type Catalog struct {
	tools []*Compiled
}

// CatalogFromTools returns the catalog of tools with distinct names.
func CatalogFromTools(tools []*Compiled) *Catalog {
	c := &Catalog{tools: slices.Clone(tools)}
	c.sort()
	return c
}

// NewCatalog compiles specs. The error is Faults: every spec that does not compile and every
// duplicate name.
func NewCatalog(specs []Spec) (*Catalog, error) {
	c := &Catalog{}
	var faults Faults
	seen := map[string]bool{}
	for _, s := range specs {
		compiled, err := s.Compile()
		if err != nil {
			faults = append(faults, strictyaml.AsFaults(fmt.Sprintf("toolspec %q", s.Name), err)...)
			continue
		}
		if seen[s.Name] {
			faults = append(faults, taken(s.Name))
			continue
		}
		seen[s.Name] = true
		c.tools = append(c.tools, compiled)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	c.sort()
	return c, nil
}

func taken(name string) Fault {
	return Fault{File: fmt.Sprintf("toolspec %q", name),
		Message: "there is another tool of this name", Hint: hintTaken}
}

func (c *Catalog) sort() {
	slices.SortFunc(c.tools, func(a, b *Compiled) int {
		return cmp.Compare(a.Spec.Name,
			b.Spec.Name)
	})
}

// Get returns the tool of that name.
func (c *Catalog) Get(name string) (*Compiled, bool) {
	i, found := slices.BinarySearchFunc(c.tools, name,
		func(t *Compiled, name string) int { return cmp.Compare(t.Spec.Name, name) })
	if !found {
		return nil, false
	}
	return c.tools[i], true
}

// Digest identifies the set of tools; catalogs of the same tools have equal digests.
func (c *Catalog) Digest() string {
	var b strings.Builder
	for _, t := range c.tools {
		fmt.Fprintln(&b, t.Spec.Name, t.Digest)
	}
	return api.Digest([]byte(b.String()))
}

// All returns every tool, sorted by name.
func (c *Catalog) All() []*Compiled { return slices.Clone(c.tools) }

// Query selects tools; an empty field selects all.
type Query struct {
	Category string
	Tag      string
	Status   api.Status
	// NamePart is a part of the name; case is ignored.
	NamePart string
}

// Select returns the tools that match all fields of q, sorted by name.
func (c *Catalog) Select(q Query) []*Compiled {
	var found []*Compiled
	for _, t := range c.tools {
		if q.fits(t.Spec) {
			found = append(found, t)
		}
	}
	return found
}

func (q Query) fits(s Spec) bool {
	return (q.Category == "" || s.Category == q.Category) &&
		(q.Tag == "" || slices.Contains(s.Tags, q.Tag)) &&
		(q.Status == "" || s.Status == q.Status) &&
		strings.Contains(strings.ToLower(s.Name), strings.ToLower(q.NamePart))
}

// Names returns the names of all tools, sorted.
func (c *Catalog) Names() []string {
	names := make([]string, len(c.tools))
	for i, t := range c.tools {
		names[i] = t.Spec.Name
	}
	return names
}

// maxNear is the number of suggestions for an unknown name.
const maxNear = 3

// Specs returns the specs of all tools, sorted by name.
func (c *Catalog) Specs() []Spec {
	specs := make([]Spec, len(c.tools))
	for i, t := range c.tools {
		specs[i] = t.Spec
	}
	return specs
}

// Near returns up to maxNear names similar to the given one, the nearest first.
func (c *Catalog) Near(name string) []string { return spelling.Near(name, c.Names(), maxNear) }

// Active returns the names of the tools that may be called, sorted.
func (c *Catalog) Active() []string {
	var names []string
	for _, t := range c.tools {
		if t.Spec.Status != api.StatusDisabled {
			names = append(names, t.Spec.Name)
		}
	}
	return names
}

// Merge returns the tools of both catalogs. A name in both is a fault, unless the specs are equal.
func (c *Catalog) Merge(other *Catalog) (*Catalog, error) {
	merged := &Catalog{tools: c.All()}
	var faults Faults
	for _, t := range other.tools {
		mine, both := c.Get(t.Spec.Name)
		switch {
		case !both:
			merged.tools = append(merged.tools, t)
		case mine.Digest != t.Digest:
			faults = append(faults, taken(t.Spec.Name))
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	merged.sort()
	return merged, nil
}

// OnLanes returns the catalog with every tool that names no lane moved to the lane of its category.
// The error is Faults: tools that cannot have their lane's key.
func (c *Catalog) OnLanes(known *lanes.Set) (*Catalog, error) {
	moved := &Catalog{tools: c.All()}
	var faults Faults
	for i, t := range c.tools {
		s := t.Spec.onLane(known)
		check := checker{}
		if lane, there := known.Lane(s.Execution.Lane); there {
			check.checkLaneKey(s, lane)
		}
		faults = append(faults, check.faults(s)...)
		if s.Execution.Lane == t.Spec.Execution.Lane {
			continue
		}
		compiled, err := s.Compile()
		if err != nil {
			faults = append(faults, strictyaml.AsFaults(fmt.Sprintf("toolspec %q", s.Name), err)...)
			continue
		}
		moved.tools[i] = compiled
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return moved, nil
}

// WithLabels returns the catalog with the labels that a table of labels adds to its tools.
func (c *Catalog) WithLabels(table *policies.Set) (*Catalog, error) {
	if !table.HasLabels() {
		return c, nil
	}
	labelled := &Catalog{tools: c.All()}
	for i, t := range c.tools {
		s := t.Spec
		own := policies.Labels{Emits: s.Emits, Effects: s.Effects, Clears: s.Clears}
		all := own.With(table.FindLabels(s.Facts()))
		if reflect.DeepEqual(own, all) {
			continue
		}
		s.Emits, s.Effects, s.Clears = all.Emits, all.Effects, all.Clears
		compiled, err := s.Compile()
		if err != nil {
			return nil, err
		}
		labelled.tools[i] = compiled
	}
	return labelled, nil
}

//go:embed shipped/*.yaml
var shipped embed.FS

// LoadShipped returns the specs of the tools that come with the project, sorted by file. The worker
// registers their handlers as it does an application's.
func LoadShipped() []Spec {
	var specs []Spec
	names, err := fs.Glob(shipped, "shipped/*.yaml")
	if err != nil {
		panic("embedded toolspecs: " + err.Error())
	}
	for _, name := range names {
		data, err := shipped.ReadFile(name)
		if err != nil {
			panic("embedded toolspecs: " + err.Error())
		}
		more, err := Decode(name, data, Options{})
		if err != nil {
			// A test decodes the embedded specs.
			panic("embedded toolspecs: " + err.Error())
		}
		specs = append(specs, more...)
	}
	return specs
}
