package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/toolspecs"
)

// Guard runs a part of a tool. It converts a panic to an execution_error, and logs the stack
// instead of showing it to the model.
func Guard[T any](ctx context.Context, handler string, f func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			said := RedactorFromContext(ctx).Text(fmt.Sprint(p))
			panics.Note(ctx, nil, panics.Tool, said, "handler", handler)
			var nothing T
			out, err = nothing, api.Errorf(api.ErrExecution, "the tool's function panicked: %s",
				said)
		}
	}()
	return f()
}

// Register returns registered objects by name. It returns an error that lists every object that has
// a fault or an invalid or duplicate name.
func Register[T any](what string, all []T, of func(*T) (name string, fault error)) (map[string]T,
	error) {
	byName := make(map[string]T, len(all))
	var faults []error
	for i := range all {
		name, fault := of(&all[i])
		if fault == nil {
			fault = api.CheckToolName(name)
		}
		if _, taken := byName[name]; taken && fault == nil {
			fault = errors.New("another " + what + " has this name too")
		}
		if fault != nil {
			faults = append(faults, fmt.Errorf("%s %q: %w", what, name, fault))
			continue
		}
		byName[name] = all[i]
	}
	return byName, errors.Join(faults...)
}

func NameList(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// NotRegistered returns the fault of a tool whose handler is not registered. what names the missing
// value and constructor the function of package switchyard that makes one.
func NotRegistered(spec *toolspecs.Spec, what, constructor string) string {
	return fmt.Sprintf("no %s %q is registered; register one with tool.%s", what,
		Handler(spec), constructor)
}

// Handler returns the name under which the function or factory of a tool is registered.
func Handler(spec *toolspecs.Spec) string {
	return cmp.Or(spec.Entry.Common().Handler, spec.Name)
}
