package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// corpusPackages are packages of the Go distribution. Their source, about 4 MB, is the bench's
// text.
var corpusPackages = []string{"net/http", "go/types", "encoding/json", "runtime", "strings"}

// corpusOnce reads the text once. Every machine that builds the bench has it.
var corpusOnce = sync.OnceValue(func() string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		panic(fmt.Sprintf("bench: `go env GOROOT`: %v", err))
	}
	var b strings.Builder
	for _, pkg := range corpusPackages {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", pkg,
			"*.go"))
		if err != nil {
			panic(err) // the pattern is a constant
		}
		slices.Sort(files)
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil {
				b.Write(data)
			}
		}
	}
	return b.String()
})
