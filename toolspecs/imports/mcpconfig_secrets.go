package imports

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/switchyard/switchyard/internal/secretname"
)

// literal is a secret that a configuration holds.
type literal struct {
	// place names where it is, key the variable of the program; empty for a header.
	place, key string
	// variable is the environment variable that servers.yaml refers to.
	variable, value string
}

var (
	// withPassword matches addresses that hold a password.
	withPassword = regexp.MustCompile(`://[^/@\s]*:[^/@\s]+@`)
	bearerToken  = regexp.MustCompile(`(?i)\bbearer\s+\S`)
	// queryParameter matches a query parameter with a value.
	queryParameter = regexp.MustCompile(`[?&;]([^=&;?#\s]+)=[^&;#\s]`)
	// assignment matches --name=value, NAME=value and Name: value.
	assignment = regexp.MustCompile(`^-*([A-Za-z0-9_.-]+)(=|:[^/\\]).`)
	// upperCase matches the variables that references can name.
	upperCase = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
)

// secretIn returns what in a text looks like a secret, without its value; empty if nothing does.
func secretIn(text string) string {
	if withPassword.MatchString(text) {
		return "a password"
	}
	if bearerToken.MatchString(text) {
		return "a bearer token"
	}
	for _, m := range queryParameter.FindAllStringSubmatch(text, -1) {
		name, err := url.QueryUnescape(m[1])
		if err != nil {
			name = m[1]
		}
		if secretname.Matches(name) {
			return fmt.Sprintf("the query parameter %s", name)
		}
	}
	return ""
}

// secretArgument returns the place of an argument that looks secret; empty if none does. The first
// element is the program.
func secretArgument(argv []string) string {
	for i, text := range argv {
		place := fmt.Sprintf("its argument %d", i)
		if i == 0 {
			place = "its command"
		}
		if m := assignment.FindStringSubmatch(text); m != nil && secretname.Matches(m[1]) {
			return fmt.Sprintf("the value of %s in %s", m[1], place)
		}
		if what := secretIn(text); what != "" {
			return what + " in " + place
		}
		if i+1 < len(argv) && secretFlag(text) && !strings.HasPrefix(argv[i+1], "-") {
			return "the value of " + text
		}
	}
	return ""
}

// secretFlag reports whether an argument is a flag whose value is a secret.
func secretFlag(text string) bool {
	name := strings.TrimLeft(text, "-")
	return name != text && !strings.ContainsAny(name, "=: ") && secretname.Matches(name)
}

// variableFor returns the environment variable of the worker for a variable of a program.
func variableFor(name string) string {
	if upperCase.MatchString(name) {
		return name
	}
	return envName(name)
}

// separateLiterals sets the references to the secrets that the configuration holds. A variable
// that another server uses for another value gets the name of its server as a prefix.
func separateLiterals(list []ConfiguredServer) {
	values := map[string]map[string]bool{} // of each variable, the literals and "" for references
	use := func(variable, value string) {
		if values[variable] == nil {
			values[variable] = map[string]bool{}
		}
		values[variable][value] = true
	}
	for _, s := range list {
		for _, variable := range s.references() {
			use(variable, "")
		}
		for _, l := range s.literals {
			use(l.variable, l.value)
		}
	}
	for i := range list {
		s := &list[i]
		for _, l := range s.literals {
			if len(values[l.variable]) > 1 {
				wanted := envName(s.Name + "_" + l.variable)
				l.variable = wanted
				for n := 2; len(values[l.variable]) > 0; n++ {
					l.variable = fmt.Sprintf("%s_%d", wanted, n)
				}
				use(l.variable, l.value)
			}
			s.refer(l)
		}
	}
}

// references returns the environment variables that the entry refers to.
func (s *ConfiguredServer) references() []string {
	names := append([]string(nil), s.Entry.Env...)
	for _, reference := range s.Entry.Secrets {
		names = append(names, strings.TrimPrefix(reference, "env:"))
	}
	if s.Entry.Auth != nil && s.Entry.Auth.Secret != "" {
		names = append(names, strings.TrimPrefix(s.Entry.Auth.Secret, "env:"))
	}
	return names
}

// refer makes the entry refer to a literal.
func (s *ConfiguredServer) refer(l literal) {
	if l.key != "" {
		s.Entry.Secrets = with(s.Entry.Secrets, l.key, "env:"+l.variable)
	} else if s.Entry.Auth != nil {
		s.Entry.Auth.Secret = "env:" + l.variable
	}
	s.Literals[l.variable] = l.value
	s.Notes = append(s.Notes, fmt.Sprintf(
		"the value of %s is not copied: give it to the worker as the environment variable %s",
		l.place, l.variable))
}
