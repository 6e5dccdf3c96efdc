// Package schemas compiles, checks and applies the JSON Schemas of arguments and results, and
// explains in plain words why a value does not fit.
package schemas
