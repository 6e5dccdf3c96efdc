package setups

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

func recorded(t *testing.T, name, version string) []byte {
	t.Helper()
	data, err := json.Marshal(api.Pack(api.Pinned{Catalog: api.Catalog{Digest: name,
		Tools: []api.Tool{{Name: name, Version: version}}}}))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDecode_SharesTheToolsOfEqualSetups(t *testing.T) {
	var s Shared
	decode := func(data []byte) api.Pinned {
		pinned, err := s.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		return pinned
	}
	a, b := recorded(t, "a", "first"), recorded(t, "b", "second")
	first, other, again := decode(a), decode(b), decode(a)
	if &first.Catalog.Tools[0] != &again.Catalog.Tools[0] {
		t.Error("the same setup has its tools twice")
	}
	var want api.Packed[api.Pinned]
	if err := json.Unmarshal(b, &want); err != nil || !reflect.DeepEqual(other, want.Value) {
		t.Errorf("got %+v, want %+v, %v", other, want.Value, err)
	}
	again.Policies.Digest = "changed"
	if got := decode(a); got.Policies.Digest != "" {
		t.Error("a run changed the rules of others")
	}
	if _, err := s.Decode([]byte("{")); err == nil || len(s.setups) != 2 {
		t.Errorf("invalid JSON: %v, %d setups are shared", err, len(s.setups))
	}
}

func TestDecode_KeepsABoundedNumberOfSetups(t *testing.T) {
	var s Shared
	decode := func(data []byte) {
		if _, err := s.Decode(data); err != nil {
			t.Fatal(err)
		}
	}
	first := recorded(t, "first", "")
	for i := range 2 * maxShared {
		decode(recorded(t, fmt.Sprint(i), ""))
		decode(first)
	}
	if len(s.setups) != maxShared || s.setups[0].pinned.Catalog.Digest != "first" {
		t.Errorf("%d setups are shared, and the one used last is %q", len(s.setups),
			s.setups[0].pinned.Catalog.Digest)
	}
	large := fmt.Sprintf(`{"catalog":{"digest":"large","tools":[{"name":"x","version":%q}]}}`,
		strings.Repeat("x", maxSharedBytes))
	decode([]byte(large))
	if len(s.setups) != maxShared || s.setups[0].pinned.Catalog.Digest != "first" {
		t.Errorf("a setup that is too large is shared; %d are", len(s.setups))
	}
	for i := range 10 {
		decode([]byte(strings.Replace(large[:len(large)/4]+`"}]}}`, "large", fmt.Sprint(i), 1)))
	}
	if len(s.setups) != 3 {
		t.Errorf("%d setups of a quarter of the bytes are shared", len(s.setups))
	}
}
