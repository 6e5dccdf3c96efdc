package main

import "os"

// exists reports whether a process has this id.
func exists(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return process.Release() == nil
}
