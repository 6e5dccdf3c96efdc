//go:build !linux

package activities

import "os/exec"

// limitMemory does nothing: only Linux can bound another process.
func limitMemory(int, int) {}

// reap waits for the program's end, closes ended and kills what is left of its group.
func reap(cmd *exec.Cmd, ended chan<- struct{}) error {
	err := cmd.Wait()
	close(ended)
	killGroup(cmd)
	return err
}
