// Package models has a table of models: prices, context windows and image support.
package models

import (
	_ "embed"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// maxFileBytes bounds a file with a table of models.
const maxFileBytes = 1 << 20

// Model describes a model.
type Model struct {
	// Price is the price of a model.
	Price api.Price
	// Window is how many tokens it reads and writes at most, in one step; zero where that is not
	// known.
	Window int
	// Images is set if the model reads images.
	Images bool
}

// Table is a table of models. The zero value is an empty one.
type Table struct {
	// AsOf is the date of the prices, as 2006-01-02.
	AsOf   string
	byName map[string]Model
}

// tableFile is a table as written.
type tableFile struct {
	AsOf   string               `yaml:"as_of" rule:"required"`
	Models map[string]modelFile `yaml:"models" rule:"required"`
}

type modelFile struct {
	Input       float64 `yaml:"input" rule:"required,min=0" hint:"prices are in US dollars per million tokens; 0 is allowed"`
	Output      float64 `yaml:"output" rule:"required,min=0" hint:"prices are in US dollars per million tokens; 0 is allowed"`
	CachedInput float64 `yaml:"cached_input" rule:"min=0"`
	CacheWrite  float64 `yaml:"cache_write" rule:"min=0"`
	Window      int     `yaml:"window" rule:"min=1" hint:"omit window where it is not known"`
	Images      bool    `yaml:"images"`
}

// Decode reads a table. The error is strictyaml.Faults and lists everything that is wrong in the
// file.
func Decode(file string, data []byte) (*Table, error) {
	doc, faults := strictyaml.ParseOne(file, data, maxFileBytes)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var f tableFile
	doc.Decode(&f)
	if _, err := time.Parse(time.DateOnly, f.AsOf); f.AsOf != "" && err != nil {
		doc.Report("$.as_of", "this must be the date of the prices, such as 2026-06-21",
			"")
	}
	t := &Table{AsOf: f.AsOf, byName: make(map[string]Model, len(f.Models))}
	for _, name := range doc.Keys("$.models") {
		m := f.Models[name]
		at := jsonpath.Key("$.models", name)
		if name == "" {
			doc.ReportKey(at, "the model has no name",
				"write the provider's name of the model")
		}
		t.byName[name] = Model{Price: api.Price{Input: m.Input, Output: m.Output,
			CachedInput: m.CachedInput, CacheWrite: m.CacheWrite},
			Window: m.Window, Images: m.Images}
	}
	if err := doc.Faults().Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// Load reads the table in the file at path, as Decode does. That it cannot be read is a fault too.
func Load(path string) (*Table, error) {
	data, err := strictyaml.ReadFile(path, maxFileBytes)
	if err != nil {
		return nil, err
	}
	return Decode(path, data)
}

//go:embed shipped.yaml
var shipped []byte

// Shipped returns the table that comes with the program.
var Shipped = sync.OnceValue(func() *Table {
	t, err := Decode("shipped.yaml", shipped)
	if err != nil {
		panic(fmt.Sprintf("the embedded table of models: %v", err))
	}
	return t
})

// dated matches the end of names that providers give to one edition of a model, or to its newest.
var dated = regexp.MustCompile(`-(\d{8}|\d{4}-\d{2}-\d{2}|latest|0)$`)

// Find returns a model by its name, else by its name without the date of an edition.
func (t *Table) Find(name string) (Model, bool) {
	if m, ok := t.byName[name]; ok {
		return m, true
	}
	m, ok := t.byName[dated.ReplaceAllString(name, "")]
	return m, ok
}

// Len returns how many models there are.
func (t *Table) Len() int { return len(t.byName) }
