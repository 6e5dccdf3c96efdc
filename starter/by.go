package main

import (
	"cmp"
	"os"
	"os/user"

	"github.com/spf13/pflag"
)

// byFlag says whose doing it is, of what a run or the server keeps together with a name.
type byFlag struct{ given string }

// add adds the flag; does is what the one who is named does.
func (f *byFlag) add(flags *pflag.FlagSet, does string) {
	flags.StringVar(&f.given, "by", "", "`name` of who "+does+" (default: the user of this system, at this host)")
}

// name returns the name that was given, or that of the user here.
func (f *byFlag) name() string { return cmp.Or(f.given, userHere()) }

// userHere names the user of this system, at this host.
func userHere() string { return currentUser() + "@" + hostname() }

func currentUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME"), "unknown")
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
