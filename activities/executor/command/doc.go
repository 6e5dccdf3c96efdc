// Package command executes tools that are programs.
package command
