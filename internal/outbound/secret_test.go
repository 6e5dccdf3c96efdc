package outbound

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// The line end that editors add is removed.
func TestSecret_IsReadAtEachUse(t *testing.T) {
	t.Setenv("SWITCHYARD_TEST_SECRET", "from the environment")
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(ref, want string) {
		t.Helper()
		if got, err := Secret(ref); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", ref, got, err, want)
		}
	}
	check("env:SWITCHYARD_TEST_SECRET", "from the environment")
	for text, want := range map[string]string{"one": "one", "two\n": "two", "three\r\n": "three",
		" four ": " four "} {
		write(text)
		check("file:"+file, want)
	}
}

// An invalid reference is a fault that does not repeat the text. An unusable secret is reported by
// its reference.
func TestSecretFaults_NameTheReference(t *testing.T) {
	for _, ref := range []string{"", "sk-live-12345", "env:", "env:sk-live-12345", "env:A B",
		"env:sk_live_12345", "file:", "file:sk-live-12345", "file:../sk-live-12345",
		"vault:sk-live-12345", "ENV:SK", "file:/sk-live-12345\x00"} {
		err := CheckSecret(ref)
		if err == nil || strings.Contains(err.Error(), "12345") {
			t.Errorf("%q: got %v", ref, err)
		}
		if _, err := Secret(ref); !errors.Is(err, &api.Error{Type: api.ErrPreconditionFailed}) ||
			strings.Contains(err.Error(), "12345") {
			t.Errorf("%q: got %v", ref, err)
		}
	}
	for _, ref := range []string{"env:A", "env:_A1", "file:/run/secrets/token", `file:C:\token`,
		"file:c:/token"} {
		if err := CheckSecret(ref); err != nil {
			t.Errorf("%q: got %v", ref, err)
		}
	}
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file:" + path
	}
	t.Setenv("SWITCHYARD_TEST_EMPTY", "")
	for ref, want := range map[string]string{
		"env:SWITCHYARD_TEST_UNSET":                "is not set",
		"env:SWITCHYARD_TEST_EMPTY":                "is empty",
		"file:" + folder + "/missing":              "cannot be read: no such file or directory",
		"file:" + folder:                           "is not a regular file",
		file("empty", "\n"):                        "is empty",
		file("large", strings.Repeat("x", 65<<10)): "has more than 65536 bytes",
		file("lines", "planted\nplanted"):          "contains a line break or another control character, which requests cannot contain",
	} {
		_, err := Secret(ref)
		if !errors.Is(err, &api.Error{Type: api.ErrPreconditionFailed}) ||
			api.AsError(err).Message != "the secret "+ref+" "+want+" on this worker" {
			t.Errorf("%s: got %v; want %s", ref, err, want)
		}
	}
}
