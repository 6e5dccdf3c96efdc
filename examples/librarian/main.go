// Command librarian is a worker with its own tools: it reads, counts and takes notes on a folder of
// documents. It shows what an application adds to Switchyard: typed Go functions and a folder of
// toolspecs.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/worker/host"
	"github.com/switchyard/switchyard/worker/tools"
)

func main() {
	library := library{root: cmp.Or(os.Getenv("LIBRARY"), "."), notes: filepath.Join(os.TempDir(),
		"librarian-notes")}
	os.Exit(host.Main(host.Config{
		Specs: toolspecs.LoadShipped(),
		Functions: append(tools.All(tools.Config{}),
			tool.NewFunction("read_document", library.read),
			tool.NewFunction("count_words", library.count),
			tool.NewFunction("take_note", library.note),
		),
	}))
}

// library is a folder of documents and a folder for notes.
type library struct{ root, notes string }

type documentInput struct {
	Path string `json:"path"`
}

type passageInput struct {
	Path  string `json:"path"`
	Lines int    `json:"lines"`
}

type passage struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// read returns the first lines of a document and its title, the first line that starts with #.
func (l library) read(_ context.Context, in passageInput) (passage, error) {
	text, err := l.open(in.Path)
	if err != nil {
		return passage{}, err
	}
	p := passage{}
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "#") {
			p.Title = strings.TrimSpace(strings.TrimLeft(line, "#"))
			break
		}
	}
	p.Text = strings.Join(lines[:min(len(lines), in.Lines)], "\n")
	return p, nil
}

type wordCount struct {
	Path  string `json:"path"`
	Words int    `json:"words"`
}

func (l library) count(_ context.Context, in documentInput) (wordCount, error) {
	text, err := l.open(in.Path)
	return wordCount{Path: in.Path, Words: len(strings.Fields(text))}, err
}

// open opens a document. os.Root confines the path to the library; hidden files such as .git are
// not documents.
func (l library) open(path string) (string, error) {
	if filepath.Ext(path) != ".md" || strings.Contains("/"+filepath.ToSlash(filepath.Clean(path)),
		"/.") {
		return "", fmt.Errorf("%q is not a document; list_documents tells which there are", path)
	}
	root, err := os.OpenRoot(l.root)
	if err != nil {
		return "", err
	}
	defer root.Close()
	data, err := root.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no document %q; list_documents tells which there are", path)
	}
	return string(data), err
}

type noteInput struct {
	Text string `json:"text"`
}

type noteOutput struct {
	Notes int `json:"notes"`
}

// note appends to the notebook of its run and returns the number of notes. Concurrent notes could
// return the same number, so the tool is exclusive.
func (l library) note(ctx context.Context, in noteInput) (noteOutput, error) {
	call, _ := callcontext.From(ctx)
	if err := os.MkdirAll(l.notes, 0o700); err != nil {
		return noteOutput{}, err
	}
	file, err := os.OpenFile(filepath.Join(l.notes, cmp.Or(call.Origin.Run, "none")),
		os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return noteOutput{}, err
	}
	defer file.Close()
	if _, err := fmt.Fprintln(file, strings.ReplaceAll(in.Text, "\n", " ")); err != nil {
		return noteOutput{}, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return noteOutput{}, err
	}
	all, err := io.ReadAll(file)
	return noteOutput{Notes: strings.Count(string(all), "\n")}, err
}
