package outbound

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// maxSecret bounds a secret, in bytes.
const maxSecret = 64 << 10

// The two forms of a reference.
const (
	fromEnv  = "env:"
	fromFile = "file:"
)

// HintSecret is the hint for a secret that is not a reference.
const HintSecret = "write env:NAME or file:/path: the name of the secret, never its value"

var (
	// envName has no small letters: tokens have them, and one that was written after env: is found
	// by that.
	envName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
	// rootedPath matches absolute paths of every system: a spec is also checked on other machines
	// than its worker.
	rootedPath = regexp.MustCompile(`^(/|[A-Za-z]:[\\/])`)
)

// CheckSecret reports text that is not a reference to a secret: env:NAME or file:/path. The error's
// text omits the value, which may be the secret itself.
func CheckSecret(ref string) error {
	if name, ok := strings.CutPrefix(ref, fromEnv); ok && envName.MatchString(name) {
		return nil
	}
	if path, ok := strings.CutPrefix(ref, fromFile); ok && rootedPath.MatchString(path) &&
		!strings.ContainsRune(path, 0) {
		return nil
	}
	return errors.New("this is not a reference to a secret")
}

// Secret returns the secret that a reference names: an environment variable, or a file's content
// without one trailing line break. It is read on each call, so that a secret can be rotated while
// the worker runs. A missing, empty or irregular file, more than 64 KiB, or a control character is
// a precondition_failed that names the reference and none of the content.
func Secret(ref string) (string, error) {
	return secretThat(ref, FitsHeader,
		"contains a line break or another control character, which requests cannot contain")
}

// SecretText is Secret for what goes to a program or a Go function: it may have several lines, as
// keys have, but no NUL.
func SecretText(ref string) (string, error) {
	return secretThat(ref, oneText, noText)
}

const noText = "contains a NUL character, which programs cannot receive"

func oneText(value string) bool { return !strings.ContainsRune(value, 0) }

// SecretHere is SecretText for a program's start-up: its error is not a call's error.
func SecretHere(ref string) (string, error) {
	return resolveSecret(ref, oneText, noText, "")
}

func secretThat(ref string, fits func(string) bool, misfit string) (string, error) {
	value, err := resolveSecret(ref, fits, misfit, " on this worker")
	if err != nil {
		return "", api.Errorf(api.ErrPreconditionFailed, "%v", err)
	}
	return value, nil
}

func resolveSecret(ref string, fits func(string) bool, misfit, where string) (string, error) {
	if err := CheckSecret(ref); err != nil {
		return "", fmt.Errorf("%w; %s", err, HintSecret)
	}
	value, err := lookUp(ref)
	if err == nil && value == "" {
		err = errors.New("is empty")
	}
	if err == nil && !fits(value) {
		err = errors.New(misfit)
	}
	if err != nil {
		return "", fmt.Errorf("the secret %s %w%s", ref, err, where)
	}
	return value, nil
}

// leastLine is the length from which a line of a secret is searched for separately.
const leastLine = 16

// SplitLines returns the lines of multi-line secrets, for redaction: a program may print a key line
// by
// line.
func SplitLines(secrets []string) []string {
	var lines []string
	for _, s := range secrets {
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); len(line) >= leastLine && line != s {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func lookUp(ref string) (string, error) {
	if name, ok := strings.CutPrefix(ref, fromEnv); ok {
		value, found := os.LookupEnv(name)
		if !found {
			return "", errors.New("is not set")
		}
		return value, nil
	}
	return readSecret(strings.TrimPrefix(ref, fromFile))
}

func readSecret(path string) (string, error) {
	// Opening a pipe would wait for its writer.
	info, err := os.Stat(path)
	if err != nil {
		return "", errors.New("cannot be read: " + reason(err))
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", errors.New("cannot be read: " + reason(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", errors.New("cannot be read: " + reason(err))
	}
	if len(data) > maxSecret {
		return "", fmt.Errorf("has more than %d bytes", maxSecret)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

// reason returns an error without the path, which the reference tells already.
func reason(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
