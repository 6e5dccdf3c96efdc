// Package jsonpath writes and reads the paths by which faults and problems name a place in a value:
// $.items[2].name, and $["two words"] where a key is not an identifier.
package jsonpath

import (
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Root is the path of the whole value.
const Root = "$"

// Key returns the path of an object's member.
func Key(path, key string) string { return jsonvalue.KeyPath(path, key) }

// Index returns the path of an array's element.
func Index(path string, i int) string { return jsonvalue.IndexPath(path, i) }

// Step is one step of a path: Index where it is not negative, else Key.
type Step struct {
	Key   string
	Index int
}

// Join returns the path that steps lead to.
func Join(steps []Step) string {
	path := Root
	for _, s := range steps {
		if s.Index >= 0 {
			path = Index(path, s.Index)
		} else {
			path = Key(path, s.Key)
		}
	}
	return path
}

// Split returns the steps of a path made by Key and Index. It stops at the first invalid step.
func Split(path string) []Step {
	rest := strings.TrimPrefix(path, Root)
	var steps []Step
	for rest != "" {
		step, n := first(rest)
		if n == 0 {
			return steps
		}
		steps = append(steps, step)
		rest = rest[n:]
	}
	return steps
}

// first returns the first step of rest and its length; 0 if there is none.
func first(rest string) (Step, int) {
	switch {
	case rest[0] == '.':
		n := strings.IndexAny(rest[1:], ".[") + 1
		if n == 0 {
			n = len(rest)
		}
		return Step{Key: rest[1:n], Index: -1}, n
	case strings.HasPrefix(rest, `["`):
		return quotedKey(rest)
	case rest[0] == '[':
		n := strings.IndexByte(rest, ']')
		if n < 0 {
			return Step{}, 0
		}
		i, err := strconv.Atoi(rest[1:n])
		if err != nil || i < 0 {
			return Step{}, 0
		}
		return Step{Index: i}, n + 1
	}
	return Step{}, 0
}

func quotedKey(rest string) (Step, int) {
	for n := 2; n < len(rest); n++ {
		switch rest[n] {
		case '\\':
			n++
		case '"':
			value, err := jsonvalue.Decode([]byte(rest[1 : n+1]))
			key, ok := value.(string)
			if err != nil || !ok || !strings.HasPrefix(rest[n+1:], "]") {
				return Step{}, 0
			}
			return Step{Key: key, Index: -1}, n + 2
		}
	}
	return Step{}, 0
}
