package toolspecs

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/spelling"
)

var (
	envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// placeholder matches {{args.name}} and any other text in double braces.
	placeholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)
)

func (c *checker) entry(s Spec) {
	switch name := s.Entry.Type(); {
	case s.Entry.Kind != nil:
		s.Entry.Kind.check(c, s)
	case name != "":
		c.Add("$.entry.type", spelling.Hint(name, kindNames()), "there is no kind %q", name)
	}
}

// dir checks a program's working folder.
func (c *checker) dir(dir string) {
	switch {
	case placeholder.MatchString(dir):
		c.Add("$.entry.dir", "write a folder, or pass the argument to the program in argv",
			"arguments cannot choose the program's working folder")
	case dir != "" && !filepath.IsAbs(dir) && !filepath.IsLocal(dir):
		c.Add("$.entry.dir", "write an absolute path",
			"the relative folder %s leaves the worker's folder for tool files (--dir)",
			jsontext.Shorten(dir))
	}
}

// ownVariables are the environment variables that every program gets.
var ownVariables = []string{"PATH", "HOME", "LANG", "TMPDIR"}

// environment checks what the tool's programs or functions get: env lists variables of the worker,
// setEnv maps variables to their values, and secrets maps names to references.
func (c *checker) environment(env []string, setEnv, secrets map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(setEnv)) {
		path := jsonpath.Key("$.entry.set_env", name)
		_, secret := secrets[name]
		switch {
		case !envName.MatchString(name):
			c.AddKey(path, "use letters, digits and _", "%s cannot name an environment variable",
				jsontext.Shorten(name))
		case strings.HasPrefix(name, "SWITCHYARD_"):
			c.AddKey(path, "name another", "the variable %s is set for each call", name)
		case secret || slices.Contains(env, name):
			c.AddKey(path, "keep one of them", "set_env and env or secrets give %s", name)
		default:
			c.setEnvValue(path, name, setEnv[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		c.secret(name, secrets[name], slices.Contains(env, name))
	}
}

// secret checks one secret. listed says that env lists a variable of its name.
func (c *checker) secret(name, reference string, listed bool) {
	path := jsonpath.Key("$.entry.secrets", name)
	switch {
	case !envName.MatchString(name):
		c.AddKey(path, "use letters, digits and _", "%s cannot name an environment variable",
			jsontext.Shorten(name))
	case slices.Contains(ownVariables, name) || strings.HasPrefix(name, "SWITCHYARD_"):
		c.AddKey(path, "name another", "every program gets the variable %s from the worker",
			name)
	case listed:
		c.AddKey(path, "keep one of them", "env and secrets both give %s", name)
	}
	if err := outbound.CheckSecret(reference); err != nil {
		c.Add(path, outbound.HintSecret, "%v", err)
	}
}

// setEnvValue checks the value of one variable.
func (c *checker) setEnvValue(path, name, value string) {
	switch {
	case looksSecret(name) && value != "":
		c.AddKey(path, "write secrets: {"+name+": env:"+name+"}",
			"the value of %s looks secret; a toolspec refers to secrets by name", name)
	case strings.ContainsRune(value, 0):
		c.Add(path, "", "the value contains a NUL character")
	case placeholder.MatchString(value):
		c.Add(path, "pass the argument in argv", "arguments cannot choose the environment")
	}
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

// argumentNames returns the names of the declared arguments, from parameters or a schema.
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

// checkRegistered checks that a name at path is registered. what says what it names.
func (c *checker) checkRegistered(path, what, name string, known []string) {
	if !slices.Contains(known, name) {
		c.Add(path, spelling.Hint(name, known), "no %s is registered as %q", what, name)
	}
}
