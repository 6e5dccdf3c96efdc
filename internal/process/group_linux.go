package process

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithUs has the program killed when this process is gone, however that ends. The system goes by
// the thread that started the program, and Go's threads live as long as the process, but for one
// whose goroutine locked itself to it and ended without unlocking it: a tool in Go that does so may
// end a program that was started on that thread before.
func endWithUs(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }

// LimitMemory bounds the program's address space, and that of the processes it starts from now on.
// It does not report errors: a program that has ended already needs no bound.
func LimitMemory(pid, bytes int) {
	limit := unix.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}
	_ = unix.Prlimit(pid, unix.RLIMIT_AS, &limit, nil)
}

// Reap waits for the program's end, closes ended and kills what is left of its group. That happens
// before the program is reaped, while its id still names this group and no other.
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
