package jsontext

import (
	"strconv"
	"strings"
)

// At returns the value at a JSON Pointer.
func At(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		next, ok := memberAt(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		if !ok {
			return nil, false
		}
		value = next
	}
	return value, true
}

func memberAt(value any, token string) (any, bool) {
	switch v := value.(type) {
	case *Object:
		next, ok := v.Members[token]
		return next, ok
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

func EscapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
