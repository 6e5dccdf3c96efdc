package toolspecs

import (
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/toolspecs/jsonpath"
	"github.com/switchyard/switchyard/toolspecs/spelling"
)

var (
	kinds = []string{KindFunction, KindCommand}
	// laterKinds are kinds that requirements name and this version cannot execute.
	laterKinds = []string{"custom", "stateful", "rest", "mcp", "agent", "human"}
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// Placeholder matches {{args.name}} and anything else in double braces.
	placeholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)
)

func (c *checker) entry(s Spec) {
	switch e := s.Entry; {
	case e.Type == "":
	case e.Type == KindFunction:
		c.onlyForCommands(e)
	case e.Type == KindCommand:
		c.command(s)
	case slices.Contains(laterKinds, e.Type):
		c.add("$.entry.type", "this version executes "+strings.Join(kinds, " and "), "the kind %s is not supported by this version", e.Type)
	default:
		c.add("$.entry.type", spelling.Hint(e.Type, kinds), "there is no kind %q", e.Type)
	}
}

func (c *checker) onlyForCommands(e Entry) {
	given := []struct {
		name string
		set  bool
	}{
		{"argv", e.Argv != nil}, {"dir", e.Dir != ""}, {"env", e.Env != nil}, {"stdin", e.Stdin != ""}, {"stdout", e.Stdout != ""},
		{"ok_exit_codes", e.OKExitCodes != nil}, {"transient_exit_codes", e.TransientExitCodes != nil},
		{"max_output", e.MaxOutput != 0}, {"max_memory", e.MaxMemory != 0},
	}
	for _, g := range given {
		if g.set {
			c.addKey("$.entry."+g.name, "remove it, or write type: command", "%s is for commands, not for functions", g.name)
		}
	}
}

func (c *checker) command(s Spec) {
	e := s.Entry
	if e.Handler != "" {
		c.addKey("$.entry.handler", "remove it, or write type: function", "handler is for functions, not for commands")
	}
	if len(e.Argv) == 0 {
		c.add("$.entry.argv", "write argv: [program, argument, …]", "a command needs argv")
	}
	c.argv(s)
	for i, name := range e.Env {
		if !envName.MatchString(name) {
			c.add(jsonpath.Index("$.entry.env", i), "list names, not values; the values come from the worker's environment",
				"%q cannot name an environment variable", name)
		}
	}
	c.exitCodes(e)
}

func (c *checker) argv(s Spec) {
	declared := s.argumentNames()
	for i, element := range s.Entry.Argv {
		path := jsonpath.Index("$.entry.argv", i)
		if strings.ContainsRune(element, 0) || i == 0 && element == "" {
			c.add(path, "", "an element of argv holds no NUL, and the program is not empty")
		}
		c.placeholders(path, element, declared, i == 0)
	}
}

const hintPlaceholder = "write {{args.name}} with the name of a parameter"

func (c *checker) placeholders(path, element string, declared []string, program bool) {
	for _, m := range placeholder.FindAllStringSubmatch(element, -1) {
		name, ok := strings.CutPrefix(m[1], "args.")
		switch {
		case program:
			c.add(path, "write the program itself", "the program cannot come from the arguments")
		case !ok:
			c.add(path, hintPlaceholder, "%s is not a placeholder", m[0])
		case !slices.Contains(declared, name):
			c.add(path, spelling.Hint(name, declared), "%s names no parameter of this tool", m[0])
		}
	}
	if rest := placeholder.ReplaceAllString(element, "…"); strings.Contains(rest, "{{") {
		c.add(path, hintPlaceholder, "%s has {{ without }}", shorten(element))
	}
}

// argumentNames returns the names of the declared arguments, however they are declared.
func (s Spec) argumentNames() []string {
	var names []string
	for _, p := range s.Parameters {
		names = append(names, p.Name)
	}
	if s.InputSchema == nil {
		return names
	}
	tree, err := parseOrdered(s.InputSchema)
	if err != nil {
		return names
	}
	return append(names, member[*object](tree, "properties").names()...)
}

const maxExitCode = 255

func (c *checker) exitCodes(e Entry) {
	for i, code := range e.OKExitCodes {
		c.exitCode(jsonpath.Index("$.entry.ok_exit_codes", i), code)
	}
	for i, code := range e.TransientExitCodes {
		path := jsonpath.Index("$.entry.transient_exit_codes", i)
		c.exitCode(path, code)
		if slices.Contains(e.OKExitCodes, code) {
			c.add(path, "keep it in one of the lists", "exit code %d counts as success and as transient failure", code)
		}
	}
}

func (c *checker) exitCode(path string, code int) {
	if code < 0 || code > maxExitCode {
		c.add(path, "", "exit codes are 0 to %d, not %d", maxExitCode, code)
	}
}
