package folder

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/parallel"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs"
)

// folder holds the content of a folder of toolspecs and the version in effect of each file. It
// reads and compiles only changed files.
type folder struct {
	dir     string
	options toolspecs.Options
	// base has the tools from outside the folder, placed on lanes from given. A tool of the folder
	// with the name of another is a fault.
	base, given *toolspecs.Catalog
	// unplaced are tools of base that do not fit their lanes, and stay where they were.
	unplaced toolspecs.Faults
	// check returns what else is wrong with a tool; nil for nothing.
	check func(*toolspecs.Compiled) []string
	files map[string]*specFileState
	// seen is the snapshot of the last check.
	seen snapshot
	// lost is why the folder cannot be read, shut why subfolders cannot.
	lost error
	shut map[string]error
}

// specFileState is one file of a folder.
type specFileState struct {
	// read is when the file was last read, and stamp its stamp then.
	read  time.Time
	stamp filewatch.Stamp
	// latest is the content of the file; good is the version in effect, nil if there is none.
	latest, good *reading
	// wrong is why latest is not in effect.
	wrong toolspecs.Faults
}

// reading is the content of a file at one moment.
type reading struct {
	file   string
	data   []byte
	digest string
	// failed is set if the file could not be read, which may be temporary.
	failed bool
	// others are the further files that its specs name, by path.
	others map[string]otherFile
	specs  []toolspecs.Located
	// tools are the specs compiled, in the same order; none if decoding found faults.
	tools  []*toolspecs.Compiled
	faults toolspecs.Faults
}

// otherFile is a file that a toolspec refers to and that is part of the tool: an agent or a script.
type otherFile struct {
	limit  int
	digest string
}

// digestFile identifies what reading a file gave, be it an error.
func digestFile(data []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return api.Digest(data)
}

// path returns the path of a file of the folder as users know it.
func (f *folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// fetch reads a file without decoding it: enough to tell whether it has changed.
func (f *folder) fetch(root *os.Root, name string) *reading {
	data, err := filewatch.ReadLimited(root.FS(), name, toolspecs.MaxFileBytes)
	if err != nil {
		fault := toolspecs.Fault{File: f.path(name), Message: "cannot be read: " +
			filewatch.Reason(err)}
		return &reading{file: fault.File, failed: true, digest: filewatch.Reason(err),
			faults: toolspecs.Faults{fault}}
	}
	return &reading{file: f.path(name), digest: api.Digest(data), data: data}
}

// same reports whether r found what an earlier reading of the file found, in the file and in those
// that it names.
func (r *reading) same(earlier *reading) bool {
	if earlier == nil || r.failed != earlier.failed || r.digest != earlier.digest {
		return false
	}
	for path, other := range earlier.others {
		if digestFile(strictyaml.ReadFile(path, other.limit)) != other.digest {
			return false
		}
	}
	return true
}

// decodeAll decodes the content of each reading into it. Files are decoded in parallel, because a
// folder of thousands takes seconds otherwise; tools are compared with others in order.
func (f *folder) decodeAll(all []*reading) {
	parallel.Each(len(all), func(i int) { f.decode(all[i]) })
	for _, r := range all {
		for i, tool := range r.tools {
			r.faults = append(r.faults, f.surroundings(r.specs[i], tool)...)
		}
	}
}

// decode decodes the file's content into the reading.
func (f *folder) decode(r *reading) {
	if r.failed {
		return
	}
	data := r.data
	if toolspecs.IsServersFile(r.file) {
		if _, err := toolspecs.CheckServers(r.file, data); err != nil {
			r.faults = strictyaml.AsFaults(r.file, err)
		}
		return
	}
	o := f.options
	r.others = map[string]otherFile{}
	o.ReadFile = func(path string, limit int) ([]byte, error) {
		data, err := strictyaml.ReadFile(path, limit)
		r.others[path] = otherFile{limit: limit, digest: digestFile(data, err)}
		return data, err
	}
	r.specs, r.faults = toolspecs.DecodeLocated(r.file, data, o)
	if len(r.faults) > 0 {
		return
	}
	var tools []*toolspecs.Compiled
	for _, l := range r.specs {
		compiled, err := l.Compile()
		if err != nil {
			r.faults = append(r.faults, strictyaml.AsFaults(fmt.Sprintf("toolspec %q", l.Spec.Name),
				err)...)
		}
		tools = append(tools, compiled)
	}
	if len(r.faults) == 0 {
		r.tools = tools
	}
}

// surroundings returns the faults of a tool in relation to the base tools and to check.
func (f *folder) surroundings(l toolspecs.Located, c *toolspecs.Compiled) toolspecs.Faults {
	var faults toolspecs.Faults
	if other, both := f.base.Get(c.Spec.Name); both && other.Digest != c.Digest {
		faults = append(faults, l.ConflictWithWorker())
	}
	if f.check != nil {
		for _, message := range f.check(c) {
			faults = append(faults, l.Fault(message, ""))
		}
	}
	return faults
}

// load reads the whole folder for the first time. The error is toolspecs.Faults with all faults, or
// explains why the folder cannot be read.
func (f *folder) load(now time.Time) error {
	root, seen := f.look()
	if seen.lost != nil {
		return seen.lost
	}
	defer root.Close()
	f.files, f.seen = map[string]*specFileState{}, seen
	f.options.Servers = &toolspecs.ServersCache{}
	var readings []*reading
	for _, name := range seen.names() {
		r := f.fetch(root, name)
		f.files[name] = &specFileState{read: now, stamp: seen.files[name], latest: r, good: r}
		readings = append(readings, r)
	}
	f.decodeAll(readings)
	faults := f.faultsFromClosed(seen.closed)
	var all []toolspecs.Located
	for _, r := range readings {
		faults = append(faults, r.faults...)
		all = append(all, r.specs...)
	}
	return append(faults, repeatedAcross(all)...).Err()
}

// keepSound puts only files without faults into effect.
func (f *folder) keepSound() {
	c := f.nothingYet()
	for c.resolveNames() {
	}
	for name, file := range f.files {
		file.good = c.chosen[name]
	}
}

// begin loads the folder, if there is one. With partly, invalid files are skipped, also those that
// are added later.
func (f *folder) begin(now time.Time, skipInvalid bool) error {
	if f.dir == "" {
		return nil
	}
	err := f.load(now)
	if err == nil || !skipInvalid || f.files == nil {
		return err
	}
	f.nothingYet()
	f.shut = f.seen.closed
	f.choose()
	return nil
}

// nothingYet clears what is in effect, so that invalid files are skipped, and chooses.
func (f *folder) nothingYet() *choice {
	for _, file := range f.files {
		file.good = nil
	}
	return f.beginChoice()
}

// look looks at the folder, and returns it open unless it is lost.
func (f *folder) look() (*os.Root, snapshot) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, snapshot{lost: fmt.Errorf("toolspecs folder: %w", err)}
	}
	seen := takeSnapshot(root.FS())
	if err := seen.closed["."]; err != nil {
		root.Close()
		return nil, snapshot{lost: fmt.Errorf("toolspecs folder %s: %w", f.dir, err)}
	}
	for _, file := range f.files {
		for path := range file.latest.others {
			seen.others[path] = filewatch.NewStamp(os.Stat(path))
		}
	}
	return root, seen
}

// faultsFromClosed returns folders in the folder that cannot be read, as faults.
func (f *folder) faultsFromClosed(dirs map[string]error) toolspecs.Faults {
	var faults toolspecs.Faults
	for name, err := range dirs {
		faults = append(faults, toolspecs.Fault{File: f.path(name), Message: "cannot be read: " +
			filewatch.Reason(err)})
	}
	return faults
}

// faults returns the faults of files and folders that are not in effect.
func (f *folder) faults() map[string]error {
	faults := map[string]error{}
	if f.lost != nil {
		faults[f.dir] = f.lost
	}
	for _, fault := range f.faultsFromClosed(f.shut) {
		faults[fault.File] = toolspecs.Faults{fault}
	}
	for _, fault := range f.unplaced {
		ofTool, _ := faults[fault.File].(toolspecs.Faults)
		faults[fault.File] = append(ofTool, fault)
	}
	for name, file := range f.files {
		if err := file.wrong.Err(); err != nil {
			faults[f.path(name)] = err
		}
	}
	return faults
}

// catalog returns the base and the tools of the folder that are in effect.
func (f *folder) catalog() *toolspecs.Catalog {
	tools := f.base.All()
	for _, file := range f.files {
		if file.good == nil {
			continue
		}
		for _, t := range file.good.tools {
			if _, both := f.base.Get(t.Spec.Name); !both {
				tools = append(tools, t)
			}
		}
	}
	return toolspecs.CatalogFromTools(tools)
}

// listFolders returns the folders to watch: those of the toolspecs and of the files that they
// depend
// on.
func (f *folder) listFolders() map[string]fs.FileInfo {
	dirs := map[string]fs.FileInfo{}
	for name, info := range f.seen.dirs {
		dirs[f.path(name)] = info
	}
	for path := range f.seen.others {
		dir := filepath.Dir(path)
		if info, err := os.Stat(dir); err == nil {
			dirs[dir] = info
		}
	}
	return dirs
}

// Load reads every *.yaml and *.yml file below dir except hidden ones. It does not follow links to
// folders; a link that leaves dir is a fault. The error is Faults with all faults, or explains why
// the folder cannot be read.
func Load(dir string, o toolspecs.Options) (*toolspecs.Catalog, error) {
	f := &folder{dir: dir, options: o, base: &toolspecs.Catalog{}, given: &toolspecs.Catalog{}}
	if err := f.load(time.Now()); err != nil {
		return nil, err
	}
	return f.catalog(), nil
}

// Check reads a folder as Load does and returns its tools. A tool that has the name of another tool
// of base is a fault, and so is what check says of a tool, at the place of its name.
func Check(dir string, o toolspecs.Options, base *toolspecs.Catalog,
	check func(*toolspecs.Compiled) []string) ([]toolspecs.Located, error) {
	f := &folder{dir: dir, options: o, base: base, given: base, check: check}
	if err := f.load(time.Now()); err != nil {
		return nil, err
	}
	var all []toolspecs.Located
	for _, name := range f.seen.names() {
		all = append(all, f.files[name].latest.specs...)
	}
	return all, nil
}

// LoadSkippingInvalid is Load without the invalid files: the catalog has base and the tools of
// every file without faults. Of two files that declare the same name, the first is used. The error,
// returned beside the catalog, is Faults. If the folder cannot be read, the catalog is base and the
// error is not Faults.
func LoadSkippingInvalid(dir string, o toolspecs.Options,
	base *toolspecs.Catalog) (*toolspecs.Catalog, error) {
	f := &folder{dir: dir, options: o, base: base, given: base}
	err := f.load(time.Now())
	if err != nil {
		f.keepSound()
	}
	return f.catalog(), err
}

// repeatedAcross reports names that are taken by a tool of an earlier file; within a file decoding
// has reported them.
func repeatedAcross(all []toolspecs.Located) toolspecs.Faults {
	firsts := slices.Clone(all)
	seen := map[[2]string]bool{}
	firsts = slices.DeleteFunc(firsts, func(l toolspecs.Located) bool {
		key := [2]string{l.File, l.Spec.Name}
		again := seen[key]
		seen[key] = true
		return again
	})
	return toolspecs.FindDuplicates(firsts)
}
