package folder

import (
	"errors"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// DefaultReloadInterval is how often a watched folder is looked at where nothing else is
// configured.
const DefaultReloadInterval = filewatch.DefaultInterval

// NeverReload is the interval with which edits are ignored.
const NeverReload = filewatch.Never

// WatchConfig configures watching. Zero values mean the defaults.
type WatchConfig struct {
	// Dir is the folder of toolspecs; empty for none.
	Dir string
	// Options set the context of the toolspecs.
	Options toolspecs.Options
	// Base are further tools that stay in the catalog; default none. Those that name no lane get
	// the lane of their category. A tool of the folder that has the name of one of them, but
	// differs from it, is a fault.
	Base *toolspecs.Catalog
	// SkipInvalid starts watching with the valid files if some are invalid; by default that is an
	// error.
	SkipInvalid bool
	// Check returns what else is wrong with a tool of the folder; default nothing.
	Check func(*toolspecs.Compiled) []string
	// Interval is how often the folder is checked for changes that the file system did not report;
	// default 5s. With NeverReload the catalog stays as it was loaded.
	Interval time.Duration
	// OnPolling is called if the file system cannot report changes, so that only the check every
	// Interval finds them. The error is the reason.
	OnPolling func(error)
}

// Watcher keeps a catalog in step with a folder of toolspecs. If an edit makes a file invalid, or
// declares the name of another file's tool, the file's previous version stays in effect and edits
// of other files take effect. The tools of a deleted file are removed. If the folder can no longer
// be read, nothing changes.
type Watcher struct {
	interval  time.Duration
	onPolling func(error)
	stop, end chan struct{}
	close     func()

	// taking is held while something new is taken into folder.
	taking sync.Mutex
	folder *folder

	mu          sync.Mutex
	status      Status
	files       map[string]string
	subscribers []*subscriber
}

// Status is the state of a watched catalog.
type Status struct {
	Catalog *toolspecs.Catalog
	// Loaded is when the catalog last changed.
	Loaded time.Time
	// Faults maps files and folders to their faults; those are not in effect.
	Faults map[string]error
	// Failed is when the newest fault was found.
	Failed time.Time
}

// Err returns the faults as one error; nil without faults.
func (s Status) Err() error {
	var all []error
	for _, file := range slices.Sorted(maps.Keys(s.Faults)) {
		all = append(all, s.Faults[file])
	}
	return errors.Join(all...)
}

// Watch loads a folder of toolspecs and watches it until Close. The error is toolspecs.Faults with
// all faults of the folder, or explains why it cannot be read.
func Watch(c WatchConfig) (*Watcher, error) {
	w, err := newWatcher(c)
	if err != nil {
		return nil, err
	}
	go w.run()
	return w, nil
}

func newWatcher(c WatchConfig) (*Watcher, error) {
	w := &Watcher{interval: c.Interval, onPolling: c.OnPolling, stop: make(chan struct{}),
		end: make(chan struct{})}
	w.close = sync.OnceFunc(func() { close(w.stop) })
	w.folder = &folder{dir: c.Dir, options: c.Options, given: c.Base, check: c.Check}
	if c.Base == nil {
		w.folder.given = &toolspecs.Catalog{}
	}
	if err := w.folder.placeBase(); err != nil {
		return nil, err
	}
	now := time.Now()
	if err := w.folder.begin(now, c.SkipInvalid); err != nil {
		return nil, err
	}
	w.status = Status{Catalog: w.folder.catalog(), Loaded: now, Faults: w.folder.faults()}
	if len(w.status.Faults) > 0 {
		w.status.Failed = now
	}
	specs, names := w.status.Catalog.Specs(), w.status.Catalog.Names()
	if err := toolspecs.CheckAgents(specs, toolspecs.Known(specs)); err != nil {
		return nil, err
	}
	if err := toolspecs.CheckPlans(specs, nil, nil); err != nil {
		return nil, err
	}
	// otherwise referenced tools may be among the invalid ones
	if err := toolspecs.CheckCalls(specs, names); err != nil && len(w.status.Faults) == 0 {
		return nil, err
	}
	w.files = w.folder.toolFiles()
	return w, nil
}

// Catalog returns the tools that are in effect.
func (w *Watcher) Catalog() *toolspecs.Catalog { return w.Status().Catalog }

// Status returns the state of the catalog.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// Subscribe calls handle with every event of the catalog, starting with a tool_loaded for every
// tool and a load_error for every fault. No event is missed between these and later ones. Calls are
// sequential, in a separate goroutine; reloading does not wait for them. stop ends the
// subscription; one call may still run then.
func (w *Watcher) Subscribe(handle func(CatalogEvent)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var first []CatalogEvent
	for _, t := range w.status.Catalog.All() {
		first = append(first, w.toolEvent(ToolLoaded, w.status.Loaded, t, w.files))
	}
	for _, file := range slices.Sorted(maps.Keys(w.status.Faults)) {
		first = append(first, CatalogEvent{Type: LoadError, Time: w.status.Failed, File: file,
			Error: w.status.Faults[file]})
	}
	s := newSubscriber(handle, first)
	w.subscribers = append(w.subscribers, s)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.subscribers = slices.DeleteFunc(w.subscribers,
			func(other *subscriber) bool { return other == s })
		s.end(false)
	}
}

func (w *Watcher) toolEvent(kind CatalogEventType, at time.Time, t *toolspecs.Compiled,
	files map[string]string) CatalogEvent {
	return CatalogEvent{Type: kind, Time: at, Tool: t.Spec.Name, Version: t.Spec.Version,
		Digest: t.Digest, File: files[t.Spec.Name]}
}

// Close stops watching; the catalog stays usable. Subscribers still receive queued events.
func (w *Watcher) Close() {
	w.close()
	<-w.end
}

// run checks the folder when the file system reports a change, every interval, and again soon while
// a file is being written.
func (w *Watcher) run() {
	defer close(w.end)
	defer w.endSubscribers()
	if w.folder.dir == "" {
		<-w.stop
		return
	}
	filewatch.Loop{Interval: w.interval, Folders: w.listFolders, Look: w.reload,
		OnPolling: w.onPolling}.Run(w.stop)
}

func (w *Watcher) listFolders() map[string]fs.FileInfo {
	w.taking.Lock()
	defer w.taking.Unlock()
	return w.folder.listFolders()
}

// reload applies changes and reports whether another check is due soon.
func (w *Watcher) reload(now time.Time) (unsettled bool) {
	w.taking.Lock()
	defer w.taking.Unlock()
	d := w.folder.compare(now)
	if d.none() {
		return d.unsettled
	}
	began := time.Now()
	w.publish(CatalogEvent{Type: ReloadStarted, Time: now})
	w.folder.take(d, now)
	w.publishReload(w.folder.catalog(), w.folder.toolFiles(), w.folder.faults(), began)
	return d.unsettled
}

// SetLanes places the tools on other lanes: every file is decoded again, with the events of a
// reload. A file with a tool that does not fit, such as one whose lane was removed, keeps the
// version in effect and is a fault; so is such a tool of the program. The change is in effect when
// SetLanes returns. Equal lanes change nothing, and after Close none do.
func (w *Watcher) SetLanes(known *lanes.Set) {
	w.taking.Lock()
	defer w.taking.Unlock()
	select {
	case <-w.stop:
		return
	default:
	}
	if reflect.DeepEqual(known, w.folder.options.KnownLanes()) {
		return
	}
	began := time.Now()
	w.publish(CatalogEvent{Type: ReloadStarted, Time: began})
	w.folder.takeLanes(known)
	w.publishReload(w.folder.catalog(), w.folder.toolFiles(), w.folder.faults(), began)
}

func (w *Watcher) publish(events ...CatalogEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.send(events...)
}

func (w *Watcher) send(events ...CatalogEvent) {
	for _, e := range events {
		for _, s := range w.subscribers {
			s.send(e)
		}
	}
}

// publishReload puts a catalog into effect and publishes the differences as events.
func (w *Watcher) publishReload(catalog *toolspecs.Catalog, files map[string]string,
	faults map[string]error, began time.Time) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.newFaults(faults, now)
	if len(events) > 0 {
		w.status.Failed = now
	}
	events = append(events, w.differences(catalog, files, now)...)
	if catalog.Digest() != w.status.Catalog.Digest() {
		w.status.Loaded = now
	}
	w.status.Catalog, w.status.Faults, w.files = catalog, faults, files
	w.send(append(events, CatalogEvent{Type: ReloadCompleted, Time: now, Tools: len(catalog.All()),
		Faulty: len(faults), Took: now.Sub(began)})...)
}

// newFaults are the files and folders that are wrong, other than before.
func (w *Watcher) newFaults(faults map[string]error, now time.Time) []CatalogEvent {
	var events []CatalogEvent
	for _, file := range slices.Sorted(maps.Keys(faults)) {
		if before := w.status.Faults[file]; before == nil ||
			before.Error() != faults[file].Error() {
			events = append(events, CatalogEvent{Type: LoadError, Time: now, File: file,
				Error: faults[file]})
		}
	}
	return events
}

// differences are the tools that were removed, added and updated.
func (w *Watcher) differences(catalog *toolspecs.Catalog, files map[string]string,
	now time.Time) []CatalogEvent {
	var events []CatalogEvent
	before := w.status.Catalog
	for _, t := range before.All() {
		if _, stays := catalog.Get(t.Spec.Name); !stays {
			events = append(events, w.toolEvent(ToolRemoved, now, t, w.files))
		}
	}
	for _, t := range catalog.All() {
		old, known := before.Get(t.Spec.Name)
		switch {
		case !known:
			events = append(events, w.toolEvent(ToolAdded, now, t, files))
		case old.Digest != t.Digest:
			e := w.toolEvent(ToolUpdated, now, t, files)
			e.OldVersion, e.OldDigest = old.Spec.Version, old.Digest
			events = append(events, e)
		}
	}
	return events
}

func (w *Watcher) endSubscribers() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.subscribers {
		s.end(true)
	}
	w.subscribers = nil
}

// toolFiles returns the files of the tools in effect, by name.
func (f *folder) toolFiles() map[string]string {
	files := map[string]string{}
	for _, file := range f.files {
		if file.good == nil {
			continue
		}
		for _, l := range file.good.specs {
			files[l.Spec.Name] = l.File
		}
	}
	return files
}
