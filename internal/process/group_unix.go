//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// OwnGroup starts the program in a new process group. On Linux the program, but not its children,
// is killed when this process dies.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithUs(cmd.SysProcAttr)
}

// OwnSession makes the program independent of the worker: of its group, its terminal and its end.
func OwnSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// endGroup asks every process of the program's group to end.
func endGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGTERM) }

// KillGroup kills every process of the program's group.
func KillGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGKILL) }

// signalGroup ignores errors: the only possible one is that the group has exited.
func signalGroup(cmd *exec.Cmd, signal syscall.Signal) {
	_ = syscall.Kill(-cmd.Process.Pid,
		signal)
}
