package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestRunInput_SharesEqualAgents proves that inputs with equal agents have one copy of them, and
// that everything else is decoded as before.
func TestRunInput_SharesEqualAgents(t *testing.T) {
	want := RunInput{Agent: &Agent{Name: "a", Instructions: "Be brief.", Tools: []string{"t"}},
		Prompt: "go", Variables: map[string]any{"v": "1"}, Session: &Session{Client: "c"},
		State: &ContinueState{Run: "r", Turn: 3}}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var first, second, other RunInput
	if err := json.Unmarshal(data, &first); err != nil || !reflect.DeepEqual(first, want) {
		t.Fatalf("got %+v, %v, want %+v", first, err, want)
	}
	if err := json.Unmarshal(data, &second); err != nil || second.Agent != first.Agent {
		t.Errorf("the second input has an agent of its own, %v", err)
	}
	changed := strings.Replace(string(data), "Be brief.", "Be long.", 1)
	if err := json.Unmarshal([]byte(changed), &other); err != nil ||
		other.Agent.Instructions != "Be long." || first.Agent.Instructions != "Be brief." {
		t.Errorf("got %+v, %v", other.Agent, err)
	}
	for _, text := range []string{`{"prompt": "p"}`, `{"agent": null, "prompt": "p"}`} {
		var none RunInput
		if err := json.Unmarshal([]byte(text), &none); err != nil || none.Agent != nil ||
			none.Prompt != "p" {
			t.Errorf("%s gives %+v, %v", text, none, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"agent": {"name": 1}}`), new(RunInput)); err == nil {
		t.Error("an agent of the wrong type was decoded")
	}
}

// TestPinned_SharesEqualTools proves that values of equal JSON share their tools, and that an
// append to the tools of one does not change the other.
func TestPinned_SharesEqualTools(t *testing.T) {
	spec := json.RawMessage(`{}`)
	want := Pinned{Catalog: Catalog{Digest: "d", Tools: []Tool{{Name: "a", Spec: spec},
		{Name: "b", Spec: spec}, {Name: "c", Spec: spec}}}}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var first, second Pinned
	if err := json.Unmarshal(data, &first); err != nil || !reflect.DeepEqual(first, want) {
		t.Fatalf("got %+v, %v, want %+v", first, err, want)
	}
	if err := json.Unmarshal(data, &second); err != nil ||
		&first.Catalog.Tools[0] != &second.Catalog.Tools[0] {
		t.Errorf("the second value has tools of its own, %v", err)
	}
	first.Catalog.Tools = append(first.Catalog.Tools, Tool{Name: "more"})
	second.Catalog.Tools = append(second.Catalog.Tools, Tool{Name: "other"})
	if first.Catalog.Tools[3].Name != "more" || len(want.Catalog.Tools) != 3 {
		t.Errorf("got %+v", first.Catalog.Tools)
	}
}

// TestShared_ForgetsWhatIsTooLarge proves that the kept values have a bound.
func TestShared_ForgetsWhatIsTooLarge(t *testing.T) {
	var s shared[int]
	decode := func([]byte) (int, error) { return 1, nil }
	for _, size := range []int{10, maxShared / 2, maxShared / 2, maxShared + 1} {
		var value int
		if err := s.decode(make([]byte, size), &value, decode); err != nil || value != 1 {
			t.Fatalf("got %d, %v", value, err)
		}
		if s.size > maxShared || len(s.values) > 2 {
			t.Errorf("%d values of %d bytes are kept", len(s.values), s.size)
		}
	}
}
