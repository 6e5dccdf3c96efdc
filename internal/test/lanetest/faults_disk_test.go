package lanetest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// diskSize is the size of the disk that is full at times, an option of mount.
const diskSize = "size=64m"

// mountDisk mounts a small disk and reports whether that is possible. Without it the folder is an
// ordinary one, and its disk is never full.
func (f *faultLab) mountDisk() {
	f.t.Helper()
	if err := os.Mkdir(f.disk, 0o700); err != nil {
		f.t.Fatal(err)
	}
	err := syscall.Mount("none", f.disk, "tmpfs", 0, diskSize)
	if f.mounted = err == nil; !f.mounted {
		f.t.Logf("no disk is full in this run: mounting a tmpfs needs root: %v", err)
	} else {
		f.t.Cleanup(func() {
			if err := syscall.Unmount(f.disk, syscall.MNT_DETACH); err != nil {
				f.t.Error(err)
			}
		})
	}
	for _, folder := range []string{f.notes, f.payloads(), f.temporary()} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			f.t.Fatal(err)
		}
	}
}

// payloads is the folder of the payload store, temporary that of the workers' temporary files.
func (f *faultLab) payloads() string  { return filepath.Join(f.disk, "payloads") }
func (f *faultLab) temporary() string { return filepath.Join(f.disk, "tmp") }

// fillDisk uses all space of the disk until free is called.
func (f *faultLab) fillDisk() (free func()) {
	f.t.Helper()
	name := filepath.Join(f.disk, "filler")
	file, err := os.Create(name)
	if err != nil {
		f.t.Fatal(err)
	}
	for size := 1 << 20; size > 0; {
		if _, err = file.WriteString(strings.Repeat("x", size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		f.t.Fatalf("the disk is not full: %v", err)
	}
	return func() {
		if err := errors.Join(file.Close(), os.Remove(name)); err != nil {
			f.t.Fatal(err)
		}
	}
}
