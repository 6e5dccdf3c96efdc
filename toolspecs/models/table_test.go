package models

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// A name with the date of an edition matches its model.
func TestShippedTable_PricesItsModels(t *testing.T) {
	table := Shipped()
	if table.Len() < 10 || table.AsOf < "2026" {
		t.Errorf("%d models as of %q", table.Len(), table.AsOf)
	}
	for name, m := range table.byName {
		p := m.Price
		if p.Input <= 0 || p.Output < p.Input || p.CachedInput >= p.Input || p.CacheWrite != 0 &&
			p.CacheWrite < p.Input || m.Window < 100_000 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	for name, want := range map[string]string{
		"claude-sonnet-4-5-20250929": "claude-sonnet-4-5", "claude-opus-4-0": "claude-opus-4",
		"claude-3-5-haiku-latest": "claude-3-5-haiku",
		"gpt-4.1-mini-2025-04-14": "gpt-4.1-mini", "gpt-4.1-mini": "gpt-4.1-mini",
	} {
		if m, ok := table.Find(name); !ok || m != table.byName[want] {
			t.Errorf("%s: %+v, %v", name, m, ok)
		}
	}
	for _, name := range []string{"", "gpt-4.1-mini-tuned", "my/gpt-4.1-mini", "llama3"} {
		if m, ok := table.Find(name); ok {
			t.Errorf("%q is known as %+v", name, m)
		}
	}
	if m, _ := table.Find("gpt-4o"); m.Window != 128_000 {
		t.Errorf("the window of gpt-4o: %d", m.Window)
	}
}

func TestDecode_ReportsEveryFaultWithItsPlace(t *testing.T) {
	good, err := Decode("m.yaml",
		[]byte("as_of: 2026-06-21\nmodels:\n  own.model: {input: 0, output: 0}\n  'a \"b\"': {input: 1, cached_input: 0.5, cache_write: 2, output: 3, window: 1000, images: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if m, _ := good.Find(`a "b"`); good.AsOf != "2026-06-21" ||
		m != (Model{Price: api.Price{Input: 1, Output: 3, CachedInput: 0.5, CacheWrite: 2},
			Window: 1000, Images: true}) {
		t.Errorf("got %+v as of %s", m, good.AsOf)
	}
	if m, ok := good.Find("own.model"); !ok || m != (Model{}) {
		t.Errorf("got %+v, %v", m, ok)
	}
	cases := []struct{ name, text, want string }{
		{"empty", "{}", "m.yaml:1:1: as_of is missing\nm.yaml:1:1: models is missing"},
		{"not a day", "as_of: June\nmodels: {a: {input: 1, output: 2}}",
			"m.yaml:1:8: this must be the date of the prices, such as 2026-06-21"},
		{"prices", "as_of: 2026-06-21\nmodels:\n  a: {input: -1, window: 0}\n  b: {input: much, output: 1, price: 3}",
			"m.yaml:3:6: output is missing (prices are in US dollars per million tokens; 0 is allowed)\nm.yaml:3:14: input is -1; the minimum is 0 (prices are in US dollars per million tokens; 0 is allowed)\nm.yaml:3:26: window is 0; the minimum is 1 (omit window where it is not known)\nm.yaml:4:14: this must be a number, not the text \"much\"\nm.yaml:4:31: unknown field \"price\" (known: input, output, cached_input, cache_write, window, images)"},
		{"no name", "as_of: 2026-06-21\nmodels: {'': {input: 1, output: 2}}",
			"m.yaml:2:10: the model has no name (write the provider's name of the model)"},
		{"twice", "as_of: 2026-06-21\nmodels:\n  a: {input: 1, output: 2}\n  a: {input: 1, output: 2}",
			`m.yaml:4:3: "a" is given twice; the first is in line 3 (remove one)`},
	}
	for _, c := range cases {
		table, err := Decode("m.yaml", []byte(c.text))
		if err == nil || table != nil || err.Error() != c.want {
			t.Errorf("%s: got\n%v\nwant\n%s", c.name, err, c.want)
		}
	}
}

func TestLoad_NamesAMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.yaml")
	var faults strictyaml.Faults
	if _, err := Load(path); !errors.As(err, &faults) ||
		err.Error() != path+": cannot be read: no such file or directory" {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, []byte("as_of: 2026-06-21\nmodels: {a: {input: 1, output: 2}}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if table, err := Load(path); err != nil || table.Len() != 1 {
		t.Errorf("got %+v, %v", table, err)
	}
}
