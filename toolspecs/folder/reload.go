package folder

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// difference is what changed in a folder since the last read.
type difference struct {
	changed []change
	removed []string
	// turned is set if the folder or a subfolder became readable or unreadable.
	turned bool
	// unsettled is set if a file is being written, so that another check is due soon.
	unsettled bool
}

// change is a file with other content than before.
type change struct {
	name  string
	stamp filewatch.Stamp
	*reading
}

func (d difference) none() bool { return len(d.changed) == 0 && len(d.removed) == 0 && !d.turned }

// compare checks the folder and returns what has changed since the last read. It reports only what
// two consecutive checks saw: a file that is being written or replaced is left for the next check.
func (f *folder) compare(now time.Time) difference {
	before := f.seen
	root, seen := f.look()
	f.seen = seen
	if seen.lost != nil {
		return f.compareLost(before)
	}
	defer root.Close()
	d := difference{turned: f.lost != nil || !sameClosed(f.shut, seen.closed)}
	f.lost, f.shut = nil, seen.closed
	for _, name := range seen.names() {
		f.compareFile(root, name, before, now, &d)
	}
	for name := range f.files {
		f.compareGone(name, before, &d)
	}
	slices.Sort(d.removed)
	return d
}

// compareLost finds whether the folder is lost for good, or otherwise than it was.
func (f *folder) compareLost(before snapshot) difference {
	turned := before.lost != nil && (f.lost == nil || f.lost.Error() != f.seen.lost.Error())
	if turned {
		f.lost = f.seen.lost
	}
	return difference{turned: turned, unsettled: before.lost == nil}
}

// compareGone finds removed files.
func (f *folder) compareGone(name string, before snapshot, d *difference) {
	if _, there := f.seen.files[name]; there || f.seen.within(name) {
		return
	}
	if before.without(name) {
		d.removed = append(d.removed, name)
	} else {
		d.unsettled = true
	}
}

func sameClosed(a, b map[string]error) bool {
	return maps.EqualFunc(a, b,
		func(x, y error) bool { return filewatch.Reason(x) == filewatch.Reason(y) })
}

func (f *folder) compareFile(root *os.Root, name string, before snapshot, now time.Time,
	d *difference) {
	file, stamp := f.files[name], f.seen.files[name]
	if file != nil && file.stamp.Same(stamp) && !file.doubtful() {
		return
	}
	if !before.files[name].Same(stamp) || !f.othersUnchanged(file, before) {
		d.unsettled = true
		return
	}
	r := f.fetch(root, name)
	if again := filewatch.NewStamp(fs.Stat(root.FS(), name)); !again.Same(stamp) {
		d.unsettled = true // it was written while we read
		return
	}
	if file != nil && r.same(file.latest) {
		file.read, file.stamp = now, stamp
		return
	}
	d.changed = append(d.changed, change{name: name, stamp: stamp, reading: r})
}

// doubtful reports whether the file may have changed though its stamp has not.
func (s *specFileState) doubtful() bool {
	return s.latest.failed || len(s.latest.others) > 0 || s.stamp.Doubtful(s.read)
}

// othersUnchanged reports whether the files that a toolspec depends on are unchanged since the
// previous check.
func (f *folder) othersUnchanged(file *specFileState, before snapshot) bool {
	if file == nil {
		return true
	}
	for path := range file.latest.others {
		if !before.others[path].Same(f.seen.others[path]) {
			return false
		}
	}
	return true
}

// take reads what has changed and chooses what is in effect.
func (f *folder) take(d difference, now time.Time) {
	for _, name := range d.removed {
		delete(f.files, name)
	}
	var readings []*reading
	for _, c := range d.changed {
		readings = append(readings, c.reading)
	}
	f.decodeAll(readings)
	for _, c := range d.changed {
		file := f.files[c.name]
		if file == nil {
			file = &specFileState{}
			f.files[c.name] = file
		}
		file.read, file.stamp, file.latest = now, c.stamp, c.reading
	}
	f.choose()
}

// takeLanes decodes every file again, from the content already read, with other lanes, and chooses
// what is in effect.
func (f *folder) takeLanes(known *lanes.Set) {
	f.options.Lanes = known
	f.unplaced = nil
	if err := f.placeBase(); err != nil {
		f.unplaced = strictyaml.AsFaults(`toolspec ""`, err)
	}
	again := f.decodedAgain()
	for _, file := range f.files {
		// The version in effect of an invalid file uses the new lanes too, if it fits them.
		if good := again[file.good]; good != nil && file.good != file.latest &&
			len(good.faults) == 0 {
			file.good = good
		}
		file.latest = again[file.latest]
	}
	f.choose()
}

// decodedAgain decodes the latest reading of each file and the one in effect once more. It returns
// the new readings by the old ones.
func (f *folder) decodedAgain() map[*reading]*reading {
	var readings []*reading
	again := map[*reading]*reading{}
	for _, file := range f.files {
		for _, r := range []*reading{file.latest, file.good} {
			if r != nil && again[r] == nil {
				again[r] = r.copyUndecoded()
				readings = append(readings, again[r])
			}
		}
	}
	f.decodeAll(readings)
	return again
}

// copyUndecoded returns what was read, to be decoded once more.
func (r *reading) copyUndecoded() *reading {
	again := &reading{file: r.file, digest: r.digest, failed: r.failed, data: r.data}
	if r.failed {
		again.faults = r.faults
	}
	return again
}

// placeBase places the base tools on lanes. If one does not fit, all stay on their lanes.
func (f *folder) placeBase() error {
	base, err := f.given.OnLanes(f.options.KnownLanes())
	if err != nil {
		return err
	}
	f.base = base
	return nil
}

// choose puts the latest version of a file into effect if it has no fault, uses no tool name of
// another file, and has no agent or plan that names an unknown tool. Otherwise the version in
// effect stays. If two changed files claim a name, its previous owner keeps it, else the first by
// file name.
func (f *folder) choose() {
	c := f.beginChoice()
	// Whatever falls back to an earlier version takes names that others may claim by now, and lacks
	// tools that others need.
	for c.resolveNames() || c.resolveAgents() {
	}
	known := c.known()
	for _, name := range c.names {
		file := f.files[name]
		if file.good = c.chosen[name]; file.good == file.latest {
			// a tool of another file was removed; there is no better version
			file.wrong = checkReferences(file.good, known)
		}
	}
}

// beginChoice chooses the latest version of every file that has no fault in itself.
func (f *folder) beginChoice() *choice {
	c := &choice{folder: f, names: slices.Sorted(maps.Keys(f.files)), chosen: map[string]*reading{}}
	for _, name := range c.names {
		file := f.files[name]
		file.wrong = file.latest.faults
		c.chosen[name] = file.latest
		if len(file.wrong) > 0 {
			c.chosen[name] = file.good
		}
	}
	return c
}

// choice is which version of every file of a folder is to be in effect, while that is being
// decided.
type choice struct {
	*folder
	names  []string
	chosen map[string]*reading
}

// fallBack keeps the version in effect of a file and records why.
func (c *choice) fallBack(name string, wrong toolspecs.Faults) {
	file := c.files[name]
	file.wrong = append(slices.Clip(file.wrong), wrong...)
	c.chosen[name] = file.good
}

// resolveNames has the files fall back that claim a name of another, and reports whether there were
// any.
func (c *choice) resolveNames() (fallen bool) {
	owners := map[string]toolspecs.Located{}
	for _, had := range []bool{true, false} {
		for _, name := range c.names {
			c.own(owners, name, had)
		}
	}
	for _, name := range c.names {
		if wrong := findConflicts(c.chosen[name], owners); len(wrong) > 0 {
			c.fallBack(name, wrong)
			fallen = true
		}
	}
	return fallen
}

// own makes a file the owner of its tools' names, of those that it had already or of all that are
// free.
func (c *choice) own(owners map[string]toolspecs.Located, name string, had bool) {
	r := c.chosen[name]
	if r == nil {
		return
	}
	for _, l := range r.specs {
		if _, owned := owners[l.Spec.Name]; !owned &&
			(!had || c.files[name].good.declares(l.Spec.Name)) {
			owners[l.Spec.Name] = l
		}
	}
}

// resolveAgents has the files fall back that are new and have an agent or plan that lacks a tool,
// and reports whether there were any.
func (c *choice) resolveAgents() (fallen bool) {
	known := c.known()
	for _, name := range c.names {
		if c.chosen[name] == c.files[name].good {
			continue
		}
		if wrong := checkReferences(c.chosen[name], known); len(wrong) > 0 {
			c.fallBack(name, wrong)
			fallen = true
		}
	}
	return fallen
}

// known returns all tools after the change, sorted by name.
func (c *choice) known() []toolspecs.Spec {
	specs := c.base.Specs()
	for _, name := range c.names {
		r := c.chosen[name]
		if r == nil {
			continue
		}
		for _, l := range r.specs {
			specs = append(specs, l.Spec)
		}
	}
	slices.SortFunc(specs,
		func(a, b toolspecs.Spec) int { return strings.Compare(a.Name, b.Name) })
	return specs
}

// checkReferences returns as faults the entries of a file's agents that name or select no tool, and
// the
// calls of its plans that do not fit the tools that they call.
func checkReferences(r *reading, all []toolspecs.Spec) toolspecs.Faults {
	if r == nil {
		return nil
	}
	var specs []toolspecs.Spec
	for _, l := range r.specs {
		specs = append(specs, l.Spec)
	}
	if !slices.ContainsFunc(specs, namesTools) {
		return nil // comparing each file with all tools would cost the square of their number
	}
	var faults toolspecs.Faults
	if err := toolspecs.CheckAgents(specs, toolspecs.Known(all)); err != nil {
		faults = strictyaml.AsFaults(r.file, err)
	}
	if err := toolspecs.CheckPlans(specs, all, nil); err != nil {
		faults = append(faults, strictyaml.AsFaults(r.file, err)...)
	}
	return faults
}

// namesTools reports whether a tool names others: an agent or a plan.
func namesTools(s toolspecs.Spec) bool {
	entry := s.Entry.Common()
	return entry.Agent != nil || entry.Plan != nil
}

// findConflicts returns as faults the tools of a file whose names other files own.
func findConflicts(r *reading, owners map[string]toolspecs.Located) toolspecs.Faults {
	if r == nil {
		return nil
	}
	var faults toolspecs.Faults
	for _, l := range r.specs {
		if owner := owners[l.Spec.Name]; owner.File != l.File {
			faults = append(faults, l.ConflictWith(owner))
		}
	}
	return faults
}

// declares reports whether one of the file's tools has the name.
func (r *reading) declares(name string) bool {
	return r != nil && slices.ContainsFunc(r.specs,
		func(l toolspecs.Located) bool { return l.Spec.Name == name })
}
