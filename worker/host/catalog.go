package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
)

// watchCatalog reads the toolspecs, checks them against the registered functions and factories, and
// watches the folder. A worker that cannot execute one of its tools does not start. An edited tool
// that it cannot execute stays at its previous version.
func (c Config) watchCatalog(r registered) (*folder.Watcher, error) {
	specs := slices.Clone(c.Specs)
	for i := range specs {
		specs[i].Execution.Arguments = cmp.Or(specs[i].Execution.Arguments, c.Mode)
	}
	own, err := toolspecs.NewCatalog(specs)
	if err != nil {
		return nil, err
	}
	if err := checkAll(own, r); err != nil {
		return nil, err
	}
	return folder.Watch(folder.WatchConfig{
		Dir: c.Tools,
		Options: toolspecs.Options{Lanes: r.lanes.current(), Handlers: r.functions.Names(),
			Stateful: r.factories.Methods(), Mode: c.Mode},
		Base:        own,
		Check:       func(compiled *toolspecs.Compiled) []string { return unfit(compiled, r) },
		SkipInvalid: c.SkipInvalid,
		Interval:    c.ReloadInterval,
		OnPolling: func(err error) {
			c.Logger.Warn("file change notifications are unavailable; polling the folder of "+
				"toolspecs", "every", c.ReloadInterval, "error", err)
		},
	})
}

func checkAll(catalog *toolspecs.Catalog, r registered) error {
	var faults []error
	for _, compiled := range catalog.All() {
		for _, message := range unfit(compiled, r) {
			faults = append(faults, fmt.Errorf("tool %s: %s", compiled.Spec.Name, message))
		}
	}
	return errors.Join(faults...)
}

// unfit returns the reasons why this worker cannot execute a tool.
func unfit(compiled *toolspecs.Compiled, r registered) []string {
	spec := &compiled.Spec
	kind, ok := r.executors[spec.Entry.Type()]
	if !ok {
		return []string{fmt.Sprintf("this worker has no executor of the kind %s", spec.Entry.Type())}
	}
	if checker, ok := kind.(executor.Checker); ok {
		return checker.Check(spec, compiled.InputSchema())
	}
	return nil
}
