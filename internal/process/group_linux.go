package process

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithUs makes the kernel kill the program when this process ends in any way. The kernel tracks
// the thread that started the program. Go's threads live as long as the process, except when a
// goroutine locked to its thread ends without unlocking: a Go tool that does this may kill a
// program started on that thread.
func endWithUs(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }

// LimitMemory bounds the program's address space, and that of the processes it starts from now on.
// It does not report errors: a program that has ended already needs no bound.
func LimitMemory(pid, bytes int) {
	limit := unix.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}
	_ = unix.Prlimit(pid, unix.RLIMIT_AS, &limit, nil)
}

// Reap waits for the program's exit, closes ended and kills the rest of its group before reaping,
// while the process ID still identifies this group.
func Reap(cmd *exec.Cmd, ended chan<- struct{}) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	close(ended)
	KillGroup(cmd)
	return cmd.Wait()
}
