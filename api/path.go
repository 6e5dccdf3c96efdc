package api

import (
	"regexp"
	"strconv"
)

// plainKey matches keys that need no quotes in a path.
var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// KeyPath returns the path of an object's member, as in Problem.Path: $.name, or $["two words"] where key is not an
// identifier. path is that of the object.
func KeyPath(path, key string) string {
	if plainKey.MatchString(key) {
		return path + "." + key
	}
	quoted, err := EncodeJSON(key)
	if err != nil {
		quoted = []byte(strconv.Quote(key))
	}
	return path + "[" + string(quoted) + "]"
}

// IndexPath returns the path of an array's element, as in Problem.Path: $[2]. path is that of the array.
func IndexPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
