package forms

import (
	"reflect"

	"github.com/switchyard/switchyard/internal/value/redaction"
)

// difference returns the JSON merge patch that makes after of before. A member that after gives as
// null is left out, as in every merge patch.
func difference(before, after any) any {
	old, isOld := before.(map[string]any)
	now, isNow := after.(map[string]any)
	if !isOld || !isNow {
		return after
	}
	patch := map[string]any{}
	for name := range old {
		if _, stays := now[name]; !stays {
			patch[name] = nil
		}
	}
	for name, value := range now {
		if !reflect.DeepEqual(old[name], value) {
			patch[name] = difference(old[name], value)
		}
	}
	return patch
}

// mergesHidden reports whether after has an object where before has a sensitive value that is not
// shown. If that is an object as well, a merge patch keeps those of its members that it does not
// name.
func mergesHidden(before, after any) bool {
	now, isObject := after.(map[string]any)
	if !isObject {
		return false
	}
	if before == redaction.Word {
		return true
	}
	old, _ := before.(map[string]any)
	for name, value := range now {
		if mergesHidden(old[name], value) {
			return true
		}
	}
	return false
}
