//go:build !linux

package process

import (
	"os/exec"
	"syscall"
)

// endWithUs does nothing: elsewhere a program outlives a process that is killed.
func endWithUs(*syscall.SysProcAttr) {}

// LimitMemory does nothing: only Linux can bound another process.
func LimitMemory(int, int) {}

// Reap waits for the program's exit, closes ended and kills the rest of its group.
func Reap(cmd *exec.Cmd, ended chan<- struct{}) error {
	err := cmd.Wait()
	close(ended)
	KillGroup(cmd)
	return err
}
