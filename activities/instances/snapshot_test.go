package instances

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/api"
)

func noise(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSnapshot_RoundTrip(t *testing.T) {
	k := snapshot{state: []byte("state")}
	for i := range snapshotCalls + 4 {
		k = k.with(snapshotCall{ID: fmt.Sprint(i), Output: json.RawMessage(fmt.Sprint(i)),
			Notes: []string{"n"}})
	}
	k = k.with(snapshotCall{ID: "failed", Error: &api.Error{Type: api.ErrExecution, Message: "no",
		Phase: api.PhaseExecution}})
	packed, err := k.pack()
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpackSnapshot(packed)
	if err != nil || !reflect.DeepEqual(got, k) || len(got.calls) != snapshotCalls {
		t.Errorf("%v, got %+v, want %+v", err, got, k)
	}
	for id, known := range map[string]bool{"4": false, "5": true, "19": true, "failed": true,
		"other": false} {
		c, ok := got.find(id)
		if ok != known {
			t.Errorf("call %s is known: %v", id, ok)
		}
		answer, err := c.answer()
		if failed := err != nil; known && (failed != (id == "failed") || !failed &&
			string(answer.Output) != id) {
			t.Errorf("call %s is answered with %+v, %v", id, answer, err)
		}
	}
	empty, err := snapshot{}.pack()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unpackSnapshot(empty); err != nil || len(got.state) != 0 || got.calls != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// A repeated call whose output was omitted reports that it took effect. A state that is too large
// without outputs is an error.
func TestSnapshot_OmitsOldestOutputsToFit(t *testing.T) {
	large, err := json.Marshal(noise(t, 60<<10))
	if err != nil {
		t.Fatal(err)
	}
	k := snapshot{state: noise(t, 20<<10)}.with(snapshotCall{ID: "a",
		Output: large}).with(snapshotCall{ID: "b", Output: large})
	packed, err := k.pack()
	if err != nil || len(packed) > maxSnapshot {
		t.Fatalf("%d bytes, %v", len(packed), err)
	}
	got, err := unpackSnapshot(packed)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := got.find("a")
	if _, err := first.answer(); !errors.Is(err, &api.Error{Type: api.ErrOutcomeUnknown}) {
		t.Errorf("a call whose output was left out is answered with %v", err)
	}
	second, _ := got.find("b")
	if answer, err := second.answer(); err != nil || string(answer.Output) != string(large) ||
		len(k.calls[0].Output) == 0 {
		t.Errorf("%v; the packed value itself was changed: %v", err, len(k.calls[0].Output) == 0)
	}
	_, err = snapshot{state: noise(t, maxSnapshot+1)}.pack()
	if large, ok := errors.AsType[tooLargeError](err); !ok || large.size <= maxSnapshot {
		t.Errorf("got %v", err)
	}
}

func TestUnpackSnapshot_RejectsDamagedData(t *testing.T) {
	packed, err := snapshot{state: []byte("state")}.pack()
	if err != nil {
		t.Fatal(err)
	}
	strange, err := compressSnapshot(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"nothing": nil, "text": []byte("text"),
		"half": packed[:len(packed)/2], "cut": packed[:len(packed)-9]} {
		if _, err := unpackSnapshot(data); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	if _, err := unpackSnapshot(strange); err != nil {
		t.Errorf("no calls: %v", err)
	}
}
