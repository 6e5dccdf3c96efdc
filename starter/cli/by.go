package cli

import (
	"cmp"
	"errors"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/internal/runstart"
)

// ByFlag is the flag that names the person behind an action. The run or the server stores the name.
type ByFlag struct{ given string }

// Add adds the flag. does describes the named person's action in the help text.
func (f *ByFlag) Add(flags *pflag.FlagSet, does string) {
	flags.Var(f, "by", "`name` of the person who "+does+" (default: the current user and host)")
}

// Set stores the name. It rejects an empty name, such as that of an unset script variable, instead
// of using the default.
func (f *ByFlag) Set(name string) error {
	if f.given = strings.TrimSpace(name); f.given == "" {
		return errors.New("the name is empty")
	}
	return nil
}

func (f *ByFlag) String() string { return f.given }

// Type returns the flag's type name, which flag errors use.
func (*ByFlag) Type() string { return byType }

// byType is the flag type of a person's name.
const byType = "name"

// Name returns the given name, or the current user's by default.
func (f *ByFlag) Name() string { return cmp.Or(f.given, UserHere()) }

// UserHere returns the current user and host as user@host.
func UserHere() string { return runstart.CurrentUser() + "@" + hostname() }

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
