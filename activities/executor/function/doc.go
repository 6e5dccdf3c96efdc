// Package function executes tools that are Go functions.
package function
