package outbound

import (
	"net/url"
	"os"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// IsReference reports whether an address is a reference, env:NAME, whose value comes from the
// worker's environment, so that one toolspec serves testing and production.
func IsReference(address string) bool {
	name, ok := strings.CutPrefix(address, fromEnv)
	return ok && envName.MatchString(name)
}

// Address returns an address of a toolspec and resolves a reference. It fails with
// precondition_failed if the variable is not set or is not an address that CheckURL accepts.
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
			"the worker's environment variable %s is not an address such as https://api.example.com/v1, without user, query and fragment",
			name)
	}
	return value, nil
}
