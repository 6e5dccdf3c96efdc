package forms

import "reflect"

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
