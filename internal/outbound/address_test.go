package outbound

import (
	"errors"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// An address can come from the worker's environment if the toolspec refers to it. Errors name the
// variable and not its value.
func TestAddress_IsReadFromTheEnvironment(t *testing.T) {
	for name, value := range map[string]string{"GOOD": "https://api.example.com/v1", "EMPTY": "",
		"FTP": "ftp://secret.example", "USER": "https://u:secret@x.example",
		"QUERY": "https://x.example/?key=secret", "TEXT": "secret",
		"BROKEN": "https://%zz.secret"} {
		t.Setenv("ADDRESS_"+name, value)
	}
	for text, want := range map[string]string{"https://plain.example": "https://plain.example",
		"env:ADDRESS_GOOD": "https://api.example.com/v1", "env:not a name": "env:not a name"} {
		if got, err := Address(text); got != want || err != nil {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
	const (
		invalid = " is not an address such as https://api.example.com/v1, without user, query and fragment"
		unset   = ", which holds the tool's address, is not set"
	)
	for name, want := range map[string]string{"EMPTY": unset, "FTP": invalid, "USER": invalid,
		"QUERY": invalid, "TEXT": invalid, "BROKEN": invalid, "UNSET": unset} {
		_, err := Address("env:ADDRESS_" + name)
		if !errors.Is(err, &api.Error{Type: api.ErrPreconditionFailed}) ||
			api.AsError(err).Message != "the worker's environment variable ADDRESS_"+name+want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
