package host

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// misread explains why a command line is invalid. It walks the arguments as package flag does,
// whose errors are plain texts.
func misread(set *flag.FlagSet, args []string) string {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"),
			"=")
		f := set.Lookup(name)
		if f == nil {
			return "unknown flag --" + name
		}
		switch boolean, ok := f.Value.(interface{ IsBoolFlag() bool }); {
		case given:
		case ok && boolean.IsBoolFlag():
			continue
		case len(args) == 0:
			return "--" + name + " needs a value"
		default:
			value, args = args[0], args[1:]
		}
		if err := f.Value.Set(value); err != nil {
			return fmt.Sprintf("--%s %q: %s", name, value, describeExpected(f.Value, err))
		}
	}
	return "invalid arguments"
}

// describeExpected describes the values of a flag that rejected one with an error.
func describeExpected(value flag.Value, err error) string {
	if getter, ok := value.(flag.Getter); ok {
		switch getter.Get().(type) {
		case int:
			return "use a whole number"
		case bool:
			return "use true or false"
		case time.Duration:
			return "use a number and a unit like 500ms, 30s or 2h"
		}
	}
	return err.Error()
}

// printFlags prints the flags with the values they take, in the same form as starter.
func printFlags(w io.Writer, set *flag.FlagSet) {
	var names, usages []string
	set.VisitAll(func(f *flag.Flag) {
		takes, usage := flag.UnquoteUsage(f)
		names, usages = append(names, strings.TrimSpace("      --"+f.Name+" "+takes)),
			append(usages, usage)
	})
	width := len(slices.MaxFunc(names, func(a, b string) int { return len(a) - len(b) }))
	for i, name := range names {
		fmt.Fprintf(w, "      %-*s   %s\n", width, name, usages[i])
	}
}
