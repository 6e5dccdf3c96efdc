package access

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// listInterval is how often a file is looked at if the file system reports nothing.
const listInterval = time.Second

// WatchFile follows a file that commands and replicas change, until it is closed. While the file is
// missing or invalid, the previous value stays in effect. what names its content in the log.
func WatchFile[T any](path, what string, log *slog.Logger,
	read func(path string) ([]byte, error),
	decode func(path string, data []byte) (*T, error)) (*filewatch.File[T], error) {
	file, err := filewatch.NewFile(path, filewatch.Reading[T]{Read: read,
		Decode: func(path string, data []byte, _ *T) (*T, error) { return decode(path, data) }},
		func(*T) { log.Info(what + " have changed") },
		func(err error) {
			log.Error(what+" cannot be read again; the previous ones stay in effect", "error", err)
		})
	if err == nil {
		file.Follow(listInterval)
	}
	return file, err
}

func readFile(path string) ([]byte, error) { return strictyaml.ReadFile(path, maxFileBytes) }

// EncodeList returns the content of a YAML file that has a list under a name, each entry in a line,
// so that people can edit it.
func EncodeList[T any](comment, name string, list []T) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n%s:", comment, name)
	if len(list) == 0 {
		b.WriteString(" []")
	}
	for _, entry := range list {
		line, err := json.Marshal(entry) // which YAML reads too
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n- %s", line)
	}
	b.WriteString("\n")
	return b.Bytes(), nil
}
