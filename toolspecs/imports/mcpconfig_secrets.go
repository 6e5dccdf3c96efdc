package imports

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/switchyard/switchyard/internal/secretname"
)

var (
	// withPassword matches addresses that hold a password.
	withPassword = regexp.MustCompile(`://[^/@\s]*:[^/@\s]+@`)
	bearerToken  = regexp.MustCompile(`(?i)\bbearer\s+\S`)
	// queryParameter matches a query parameter with a value.
	queryParameter = regexp.MustCompile(`[?&;]([^=&;?#\s]+)=[^&;#\s]`)
	// assignment matches --name=value, NAME=value and Name: value.
	assignment = regexp.MustCompile(`^-*([A-Za-z0-9_.-]+)(=|:[^/\\]).`)
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

// hide returns the reference that replaces a secret of the configuration: a variable of the
// worker's environment with the names of the server and of the secret, that no other server refers
// to.
func (s *ConfiguredServer) hide(place, name, value string) string {
	wanted := secretName(s.Name, name)
	free := wanted
	for n := 2; s.taken[free]; n++ {
		free = fmt.Sprintf("%s_%d", wanted, n)
	}
	s.taken[free] = true
	s.Literals[free] = value
	s.Notes = append(s.Notes, fmt.Sprintf(
		"the value of %s is not copied: give it to the worker as the environment variable %s",
		place, free))
	return "env:" + free
}
