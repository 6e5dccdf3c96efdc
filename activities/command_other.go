//go:build !unix

package activities

import "os/exec"

// Without process groups only the program itself is ended.
func ownGroup(*exec.Cmd)      {}
func ownSession(*exec.Cmd)    {}
func endGroup(cmd *exec.Cmd)  { killGroup(cmd) }
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
