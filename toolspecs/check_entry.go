package toolspecs

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/spelling"
)

var (
	// entryChecks has the kinds that this version executes, and what else than the fields' own rules holds for each.
	entryChecks = map[string]func(*checker, Spec){
		api.KindFunction: nil,
		api.KindStateful: nil,
		api.KindCommand:  (*checker).command,
		api.KindAgent:    (*checker).agent,
		api.KindHuman:    (*checker).human,
		api.KindREST:     (*checker).rest,
		api.KindMCP:      (*checker).mcp,
	}
	envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// Placeholder matches {{args.name}} and anything else in double braces.
	placeholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)
)

func (c *checker) entry(s Spec) {
	kinds := slices.Sorted(maps.Keys(entryChecks))
	check, known := entryChecks[s.Entry.Type]
	switch kind := s.Entry.Type; {
	case kind == "":
	case !known:
		c.Add("$.entry.type", spelling.Hint(kind, kinds), "there is no kind %q", kind)
	default:
		c.onlyFor(s.Entry)
		c.secrets(s.Entry)
		if check != nil {
			check(c, s)
		}
	}
}

// onlyFor reports fields that are set and are for other kinds, by the fields' tags.
func (c *checker) onlyFor(e Entry) {
	v := reflect.ValueOf(e)
	for i, f := range reflect.VisibleFields(v.Type()) {
		of := f.Tag.Get("kinds")
		if of == "" || v.Field(i).IsZero() || slices.Contains(strings.Split(of, ","), e.Type) {
			continue
		}
		name := cmp.Or(strings.Trim(f.Tag.Get("yaml"), "-"), strings.Split(f.Tag.Get("json"), ",")[0])
		c.AddKey("$.entry."+name, "remove it, or change the type", "%s is for the kind %s, not for %s", name, strings.ReplaceAll(of, ",", " or "), e.Type)
	}
}

func (c *checker) command(s Spec) {
	e := s.Entry
	if len(e.Argv) == 0 {
		c.Add("$.entry.argv", "write argv: [program, argument, …]", "a command needs argv")
	}
	c.argv(s)
	c.env(e.Env)
	c.exitCodes(e)
	if o := s.Output; o != nil && e.Stdout == stdoutText && o.Type != "" && o.Type != "string" && s.Execution.OnInvalidOutput == onInvalidFail {
		c.Add("$.output.type", "write stdout: json in entry, if the program prints JSON",
			"the answer of a command with stdout: text is a string, so that no answer fits the type %s", o.Type)
	}
}

func (c *checker) env(names []string) {
	for i, name := range names {
		if !envName.MatchString(name) {
			c.Add(jsonpath.Index("$.entry.env", i), "list names, not values; the values come from the worker's environment",
				"%q cannot name an environment variable", name)
		}
	}
}

// ownVariables are those that every program sees.
var ownVariables = []string{"PATH", "HOME", "LANG", "TMPDIR"}

func (c *checker) secrets(e Entry) {
	for _, name := range slices.Sorted(maps.Keys(e.Secrets)) {
		path := jsonpath.Key("$.entry.secrets", name)
		switch {
		case !envName.MatchString(name):
			c.AddKey(path, "use letters, digits and _", "%s cannot name an environment variable", jsontext.Shorten(name))
		case slices.Contains(ownVariables, name) || strings.HasPrefix(name, "SWITCHYARD_"):
			c.AddKey(path, "name another", "every program gets the variable %s from the worker", name)
		case slices.Contains(e.Env, name):
			c.AddKey(path, "keep one of them", "env and secrets both give %s", name)
		}
		if err := outbound.CheckSecret(e.Secrets[name]); err != nil {
			c.Add(path, outbound.HintSecret, "%v", err)
		}
	}
}

func (c *checker) argv(s Spec) {
	declared := s.argumentNames()
	for i, element := range s.Entry.Argv {
		path := jsonpath.Index("$.entry.argv", i)
		if strings.ContainsRune(element, 0) || i == 0 && element == "" {
			c.Add(path, "", "an element of argv holds no NUL, and the program is not empty")
		}
		c.placeholders(path, element, declared, i == 0)
	}
	c.programs(s.Entry.Argv)
}

const hintPlaceholder = "write {{args.name}} with the name of a parameter"

func (c *checker) placeholders(path, element string, declared []string, program bool) {
	for _, m := range placeholder.FindAllStringSubmatch(element, -1) {
		name, ok := strings.CutPrefix(m[1], "args.")
		switch {
		case program:
			c.Add(path, "write the program itself", "the program cannot come from the arguments")
		case !ok:
			c.Add(path, hintPlaceholder, "%s is not a placeholder", m[0])
		case !slices.Contains(declared, name):
			c.Add(path, spelling.Hint(name, declared), "%s names no parameter of this tool", m[0])
		}
	}
	if rest := placeholder.ReplaceAllString(element, "…"); strings.Contains(rest, "{{") {
		c.Add(path, hintPlaceholder, "%s has {{ without }}", jsontext.Shorten(element))
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
	tree, err := jsontext.ParseOrdered(s.InputSchema)
	if err != nil {
		return names
	}
	return append(names, jsontext.Member[*jsontext.Object](tree, "properties").Names()...)
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
			c.Add(path, "keep it in one of the lists", "exit code %d counts as success and as transient failure", code)
		}
	}
}

func (c *checker) exitCode(path string, code int) {
	if code < 0 || code > maxExitCode {
		c.Add(path, "", "exit codes are 0 to %d, not %d", maxExitCode, code)
	}
}
