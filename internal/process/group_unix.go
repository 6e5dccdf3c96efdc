//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// OwnGroup makes the program the leader of a process group of its own. On Linux the program, but
// not what it has started, ends with this process even where that is killed.
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

// signalGroup does not report errors: the only one there is says that the group is gone already.
func signalGroup(cmd *exec.Cmd, signal syscall.Signal) {
	_ = syscall.Kill(-cmd.Process.Pid,
		signal)
}
