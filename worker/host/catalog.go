package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
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
			Factories: r.factories.Names(), Mode: c.Mode},
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
	var handler interface {
		Check(spec *toolspecs.Spec, inputSchema json.RawMessage) []string
	}
	var ok bool
	what, with := "function", "NewFunction"
	switch spec.Entry.Type {
	case api.KindFunction:
		handler, ok = r.functions.Find(spec)
	case api.KindStateful:
		what, with = "factory of a stateful tool", "NewStateful"
		handler, ok = r.factories.Find(spec)
	default:
		return nil
	}
	if !ok {
		return []string{fmt.Sprintf("no %s %q is registered; register one with switchyard.%s", what,
			cmp.Or(spec.Entry.Handler, spec.Name), with)}
	}
	return handler.Check(spec, compiled.InputSchema())
}
