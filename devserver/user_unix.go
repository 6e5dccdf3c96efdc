//go:build unix

package main

import (
	"fmt"
	"os"
	"os/user"
	"syscall"
)

// nameUser starts the program again with a name and a home folder for its user, if it cannot look
// them up: the user is not in /etc/passwd and $USER or $HOME is not set, as in containers and
// services. The server does not start without them. Libraries look the user up before main, and the
// result is cached, so that setting the variables in this process is too late.
func nameUser() {
	if _, err := user.Current(); err == nil {
		return
	}
	environment, missing := os.Environ(), false
	for name, value := range map[string]string{"USER": fmt.Sprintf("uid-%d", os.Getuid()),
		"HOME": os.TempDir()} {
		if os.Getenv(name) == "" {
			environment, missing = append(environment, name+"="+value), true
		}
	}
	program, err := os.Executable()
	if missing && err == nil {
		_ = syscall.Exec(program, os.Args, environment) // if it fails, the server says what is missing
	}
}
