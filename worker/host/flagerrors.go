package host

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// misread says in our words why a command line could not be read: it goes through the arguments as package flag does, whose errors are
// mere texts.
func misread(set *flag.FlagSet, args []string) string {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		f := set.Lookup(name)
		if f == nil {
			return "there is no flag --" + name
		}
		switch boolean, ok := f.Value.(interface{ IsBoolFlag() bool }); {
		case given:
		case ok && boolean.IsBoolFlag():
			continue
		case len(args) == 0:
			return "--" + name + " is given without its value"
		default:
			value, args = args[0], args[1:]
		}
		if f.Value.Set(value) != nil {
			return fmt.Sprintf("--%s %q: %s", name, value, expected(f.Value))
		}
	}
	return "the arguments cannot be read"
}

// expected says what a flag of that kind takes.
func expected(value flag.Value) string {
	if getter, ok := value.(flag.Getter); ok {
		switch getter.Get().(type) {
		case int:
			return "write a whole number"
		case bool:
			return "write true or false"
		case time.Duration:
			return "write a number and a unit, such as 500ms, 30s or 2h"
		}
	}
	return "this is no value of the flag"
}

// printFlags prints the flags as starter does, with what each takes.
func printFlags(w io.Writer, set *flag.FlagSet) {
	var names, usages []string
	set.VisitAll(func(f *flag.Flag) {
		takes, usage := flag.UnquoteUsage(f)
		names, usages = append(names, strings.TrimSpace("      --"+f.Name+" "+takes)), append(usages, usage)
	})
	width := len(slices.MaxFunc(names, func(a, b string) int { return len(a) - len(b) }))
	for i, name := range names {
		fmt.Fprintf(w, "      %-*s   %s\n", width, name, usages[i])
	}
}
