//go:build !unix

package process

import "os/exec"

// OwnGroup does nothing: without process groups only the program itself is ended.
func OwnGroup(*exec.Cmd) {}

// OwnSession does nothing, for the same reason.
func OwnSession(*exec.Cmd) {}

// endGroup kills the program.
func endGroup(cmd *exec.Cmd) { KillGroup(cmd) }

// KillGroup kills the program.
func KillGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
