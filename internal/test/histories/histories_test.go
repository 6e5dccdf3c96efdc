package histories

import (
	"path/filepath"
	"slices"
	"testing"

	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
)

func TestRead_ReturnsWhatWriteRecorded(t *testing.T) {
	dir := t.TempDir()
	want := &historypb.History{Events: []*historypb.HistoryEvent{{EventId: 1}, {EventId: 2}}}
	for _, name := range []string{"b", "a.1"} {
		if err := Write(filepath.Join(dir, name), want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(filepath.Join(dir, "a.1"))
	if err != nil || !proto.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	names, err := Names(dir)
	if err != nil || !slices.Equal(names, []string{"a.1", "b"}) {
		t.Errorf("names are %q, %v", names, err)
	}
}
