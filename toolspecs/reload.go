package toolspecs

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

// difference is how a folder differs from what was read of it last.
type difference struct {
	changed []change
	removed []string
	// turned says that the folder, or a folder in it, can be read again or cannot any more.
	turned bool
	// unsettled says that something is being written: it is worth looking again soon.
	unsettled bool
}

// change is a file with other content than before.
type change struct {
	name  string
	stamp stamp
	*reading
	data []byte
}

func (d difference) none() bool { return len(d.changed) == 0 && len(d.removed) == 0 && !d.turned }

// compare looks at the folder and returns what has changed since it was read. Only what two looks in a row saw alike
// counts: a file that is being written, or replaced, is left for the next look.
func (f *folder) compare(now time.Time) difference {
	before := f.seen
	root, seen := f.look()
	f.seen = seen
	if seen.lost != nil {
		turned := before.lost != nil && (f.lost == nil || f.lost.Error() != seen.lost.Error())
		if turned {
			f.lost = seen.lost
		}
		return difference{turned: turned, unsettled: before.lost == nil}
	}
	defer root.Close()
	d := difference{turned: f.lost != nil || !sameClosed(f.shut, seen.closed)}
	f.lost, f.shut = nil, seen.closed
	for _, name := range seen.names() {
		f.compareFile(root, name, before, now, &d)
	}
	for name := range f.files {
		if _, there := seen.files[name]; there || seen.within(name) {
			continue
		}
		if before.without(name) {
			d.removed = append(d.removed, name)
		} else {
			d.unsettled = true
		}
	}
	slices.Sort(d.removed)
	return d
}

func sameClosed(a, b map[string]error) bool {
	return maps.EqualFunc(a, b, func(x, y error) bool { return reason(x) == reason(y) })
}

func (f *folder) compareFile(root *os.Root, name string, before snapshot, now time.Time, d *difference) {
	file, stamp := f.files[name], f.seen.files[name]
	if file != nil && file.stamp.same(stamp) && !file.doubtful() {
		return
	}
	if !before.files[name].same(stamp) || !f.othersSettled(file, before) {
		d.unsettled = true
		return
	}
	r, data := f.fetch(root, name)
	if again := stampOf(fs.Stat(root.FS(), name)); !again.same(stamp) {
		d.unsettled = true // it was written while we read
		return
	}
	if file != nil && r.same(file.latest) {
		file.read, file.stamp = now, stamp
		return
	}
	d.changed = append(d.changed, change{name: name, stamp: stamp, reading: r, data: data})
}

// doubtful reports whether the file may have changed though its stamp has not.
func (s *specFileState) doubtful() bool {
	return s.latest.failed || len(s.latest.others) > 0 || s.stamp.info != nil && s.read.Sub(s.stamp.info.ModTime()) < quick
}

// othersSettled reports whether nobody has written to the files that a toolspec depends on since the look before.
func (f *folder) othersSettled(file *specFileState, before snapshot) bool {
	if file == nil {
		return true
	}
	for path := range file.latest.others {
		if !before.others[path].same(f.seen.others[path]) {
			return false
		}
	}
	return true
}

// take reads what has changed and decides what is in effect now.
func (f *folder) take(d difference, now time.Time) {
	for _, name := range d.removed {
		delete(f.files, name)
	}
	for _, c := range d.changed {
		f.decode(c.reading, c.data)
		file := f.files[c.name]
		if file == nil {
			file = &specFileState{}
			f.files[c.name] = file
		}
		file.read, file.stamp, file.latest = now, c.stamp, c.reading
	}
	f.choose()
}

// choose puts the latest version of every file into effect that has no fault and takes no tool's name from another
// file. Of every other file the version that was in effect stays. Where two files that have both changed claim a name,
// the one that had it keeps it, else the first by name.
func (f *folder) choose() {
	names := slices.Sorted(maps.Keys(f.files))
	chosen := map[string]*reading{}
	for _, name := range names {
		file := f.files[name]
		file.wrong = file.latest.faults
		chosen[name] = file.latest
		if len(file.wrong) > 0 {
			chosen[name] = file.good
		}
	}
	// Whoever falls back to an earlier version takes names that others may claim by now.
	for f.settleNames(names, chosen) {
	}
	for name, r := range chosen {
		f.files[name].good = r
	}
}

// settleNames has the files fall back that claim a name of another, and reports whether there were any.
func (f *folder) settleNames(names []string, chosen map[string]*reading) bool {
	owners := map[string]located{}
	for _, inEffect := range []bool{true, false} {
		for _, name := range names {
			r := chosen[name]
			if r == nil {
				continue
			}
			for _, l := range r.specs {
				had := f.files[name].good.declares(l.spec.Name)
				if _, owned := owners[l.spec.Name]; !owned && (had || !inEffect) {
					owners[l.spec.Name] = l
				}
			}
		}
	}
	fallen := false
	for _, name := range names {
		if wrong := robbed(chosen[name], owners); len(wrong) > 0 {
			f.files[name].wrong = append(slices.Clip(f.files[name].wrong), wrong...)
			chosen[name] = f.files[name].good
			fallen = true
		}
	}
	return fallen
}

// robbed returns the tools of a file whose names other files own, as faults.
func robbed(r *reading, owners map[string]located) Faults {
	if r == nil {
		return nil
	}
	var faults Faults
	for _, l := range r.specs {
		if owner := owners[l.spec.Name]; owner.file != l.file {
			faults = append(faults, l.twice(owner))
		}
	}
	return faults
}

// declares reports whether one of the file's tools has the name.
func (r *reading) declares(name string) bool {
	return r != nil && slices.ContainsFunc(r.specs, func(l located) bool { return l.spec.Name == name })
}
