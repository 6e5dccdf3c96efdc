package outbound

import (
	"net/url"
	"os"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// IsReference reports whether an address is a reference, env:NAME: then the worker's environment
// says what it is, so that one toolspec serves testing and production.
func IsReference(address string) bool {
	name, ok := strings.CutPrefix(address, fromEnv)
	return ok && envName.MatchString(name)
}

// Address returns an address of a toolspec, and what it refers to where it is a reference. It fails
// with precondition_failed where the variable is not set or holds no address that CheckURL accepts.
func Address(text string) (string, error) {
	if !IsReference(text) {
		return text, nil
	}
	name := strings.TrimPrefix(text, fromEnv)
	value := os.Getenv(name)
	if value == "" {
		return "", api.Errorf(api.ErrPreconditionFailed,
			"the worker's environment variable %s, which holds the tool's address, is not set",
			name)
	}
	u, err := url.Parse(value)
	if err == nil {
		err = CheckURL(u)
	}
	if err != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", api.Errorf(api.ErrPreconditionFailed,
			"the worker's environment variable %s holds no address such as https://api.example.com/v1, without user, query and fragment",
			name)
	}
	return value, nil
}
