// Package turn decides in which order and with which priority the calls of a turn or a plan run. It
// also counts what a run has seen and done, for policies. The scheduler and the
// queue are pure; NewPriority reads the workflow's info.
package turn
