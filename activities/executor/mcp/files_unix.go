//go:build unix

package mcp

import (
	"fmt"
	"os"
	"syscall"
)

// ownFolder returns an error if the folder belongs to another user.
func ownFolder(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || ok &&
		int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a folder of this user's", dir)
	}
	return nil
}
