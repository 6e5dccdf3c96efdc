// Package switchyard is what applications import: tools written in Go, hooks, and what a running call can know and ask.
package switchyard
