package cli

import (
	"cmp"
	"errors"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/pflag"
)

// ByFlag says whose doing it is, of what a run or the server keeps together with a name.
type ByFlag struct{ given string }

// Add adds the flag; does is what the one who is named does.
func (f *ByFlag) Add(flags *pflag.FlagSet, does string) {
	flags.Var(f, "by", "`name` of the person who "+does+" (default: the current user and host)")
}

// Set takes the name; an empty one, such as that of a variable of a script that is not set, is a
// fault and never the default.
func (f *ByFlag) Set(name string) error {
	if f.given = strings.TrimSpace(name); f.given == "" {
		return errors.New("the name is empty")
	}
	return nil
}

func (f *ByFlag) String() string { return f.given }

// Type is how errors about flags know it.
func (*ByFlag) Type() string { return byType }

// byType is the type of a flag with the name of a person.
const byType = "name"

// Name returns the name that was given, or that of the user here.
func (f *ByFlag) Name() string { return cmp.Or(f.given, UserHere()) }

// UserHere names the user of this system, at this host.
func UserHere() string { return CurrentUser() + "@" + hostname() }

func CurrentUser() string {
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
