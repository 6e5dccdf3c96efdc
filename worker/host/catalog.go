package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/toolspecs"
)

// loadCatalog reads the toolspecs and checks them against the functions: a worker that could not execute one of its
// tools does not start.
func (c Config) loadCatalog(functions *activities.Functions) (*toolspecs.Catalog, error) {
	specs := slices.Clone(c.Specs)
	for i := range specs {
		specs[i].Execution.Arguments = cmp.Or(specs[i].Execution.Arguments, c.Mode)
	}
	catalog, err := toolspecs.NewCatalog(specs)
	if err != nil {
		return nil, err
	}
	if c.Tools != "" {
		lanes := append([]string{switchyard.LaneGeneral, switchyard.LaneSerial}, c.Lanes...)
		slices.Sort(lanes)
		folder, err := toolspecs.Load(c.Tools, toolspecs.Options{Lanes: slices.Compact(lanes), Handlers: functions.Names(), Mode: c.Mode})
		if err != nil {
			return nil, err
		}
		if catalog, err = catalog.Merge(folder); err != nil {
			return nil, err
		}
	}
	return catalog, checkFunctions(catalog, functions)
}

func checkFunctions(catalog *toolspecs.Catalog, functions *activities.Functions) error {
	var faults []error
	for _, compiled := range catalog.All() {
		spec := &compiled.Spec
		if spec.Entry.Type != switchyard.KindFunction {
			continue
		}
		f, ok := functions.Find(spec)
		if !ok {
			faults = append(faults, fmt.Errorf("tool %s: no function %q is registered; register one with activities.NewFunction", spec.Name, cmp.Or(spec.Entry.Handler, spec.Name)))
			continue
		}
		for _, mismatch := range f.Check(spec, compiled.InputSchema()) {
			faults = append(faults, fmt.Errorf("tool %s: %s", spec.Name, mismatch))
		}
	}
	return errors.Join(faults...)
}
