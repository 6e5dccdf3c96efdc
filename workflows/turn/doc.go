// Package turn decides in which order and with which priority the calls of a turn or a plan run. It
// also counts what a run has seen and done, for policies. It is pure: the same input gives the same
// result.
package turn
