package toolspecs

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// Catalog is a set of compiled tools with different names. It does not change.
type Catalog struct {
	tools []*Compiled
}

// NewCatalog compiles specs. The error is Faults: every spec that does not compile and every name that is taken.
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

const hintTaken = "rename or remove one of them"

func taken(name string) Fault {
	return Fault{File: fmt.Sprintf("toolspec %q", name), Message: "there is another tool of this name", Hint: hintTaken}
}

func (c *Catalog) sort() {
	slices.SortFunc(c.tools, func(a, b *Compiled) int { return cmp.Compare(a.Spec.Name, b.Spec.Name) })
}

// Load reads every *.yaml and *.yml file below dir, other than hidden ones. Links to folders are not followed, and one
// that leads out of dir is a fault. The error is Faults with everything that is wrong in the folder, or says that the folder cannot be read.
func Load(dir string, o Options) (*Catalog, error) {
	f := &folder{dir: dir, options: o, base: &Catalog{}, given: &Catalog{}}
	if err := f.load(time.Now()); err != nil {
		return nil, err
	}
	return f.catalog(), nil
}

// LoadPartly is Load as far as nothing is wrong: the catalog has base, and the tools of every file of the folder without faults; of two
// files that claim a name it is the first. The error, which comes beside it, is Faults with all the others. A folder that cannot be read
// at all gives base and an error that is none.
func LoadSkippingInvalid(dir string, o Options, base *Catalog) (*Catalog, error) {
	f := &folder{dir: dir, options: o, base: base, given: base}
	err := f.load(time.Now())
	if err != nil {
		f.keepSound()
	}
	return f.catalog(), err
}

// repeatedAcross reports names that are taken by a tool of an earlier file; within a file decoding has reported them.
func repeatedAcross(all []located) Faults {
	firsts := slices.Clone(all)
	seen := map[[2]string]bool{}
	firsts = slices.DeleteFunc(firsts, func(l located) bool {
		key := [2]string{l.file, l.spec.Name}
		again := seen[key]
		seen[key] = true
		return again
	})
	return repeated(firsts)
}

// Get returns the tool of that name.
func (c *Catalog) Get(name string) (*Compiled, bool) {
	i, found := slices.BinarySearchFunc(c.tools, name, func(t *Compiled, name string) int { return cmp.Compare(t.Spec.Name, name) })
	if !found {
		return nil, false
	}
	return c.tools[i], true
}

// Digest identifies the set of tools: two catalogs of the same tools have the same.
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
	// NamePart is a part of the name, letter case aside.
	NamePart string
}

// Select returns the tools that fit all fields of q, sorted by name.
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

func (c *Catalog) names() []string {
	names := make([]string, len(c.tools))
	for i, t := range c.tools {
		names[i] = t.Spec.Name
	}
	return names
}

// maxNear is how many names are offered for one that does not exist.
const maxNear = 3

// specs returns those of all tools.
func (c *Catalog) specs() []Spec {
	specs := make([]Spec, len(c.tools))
	for i, t := range c.tools {
		specs[i] = t.Spec
	}
	return specs
}

// Near returns up to three names like the given one, the nearest first.
func (c *Catalog) Near(name string) []string { return spelling.Near(name, c.names(), maxNear) }

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

// Merge returns the tools of both catalogs. A name that both have is a fault, unless it is the same spec.
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

// OnLanes returns the catalog with every tool that names no lane on that of its category. The error is Faults: tools that
// cannot have their lane's key.
func (c *Catalog) OnLanes(known *lanes.Set) (*Catalog, error) {
	moved := &Catalog{tools: c.All()}
	var faults Faults
	for i, t := range c.tools {
		s := t.Spec.onLane(known)
		check := checker{}
		if lane, there := known.Lane(s.Execution.Lane); there {
			check.keyOf(s, lane)
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

//go:embed shipped/*.yaml
var shipped embed.FS

// Shipped returns the specs of the tools that come with the project, sorted by file. Their handlers are registered by
// the worker like any application's.
func Shipped() []Spec {
	var specs []Spec
	for _, name := range snapshotOf(shipped).names() {
		data, err := shipped.ReadFile(name)
		if err != nil {
			panic("embedded toolspecs: " + err.Error())
		}
		more, err := Decode(name, data, Options{})
		if err != nil {
			// A test decodes them, so that no build with a broken one gets this far.
			panic("embedded toolspecs: " + err.Error())
		}
		specs = append(specs, more...)
	}
	return specs
}
