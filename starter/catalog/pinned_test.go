package catalog

import (
	"testing"

	"github.com/switchyard/switchyard/audit/history"
)

func TestPinned_FindsToolsOfTheRunAndThoseBelow(t *testing.T) {
	s := history.Summary{WorkflowID: "run",
		Tools:           []history.PinnedTool{{Name: "refund", Version: "1.4.0", Digest: "d1"}},
		DescendantTools: []history.PinnedTool{{Name: "find", Version: "2.0.0", Digest: "d2"}}}
	for _, c := range []struct{ tool, version, digest string }{
		{"refund", "", "d1"}, {"refund", "1.4.0", "d1"}, {"find", "2.0.0", "d2"},
		{"refund", "1.4.1", ""}, {"charge", "", ""},
	} {
		got, digest := pinnedIn(s, "1", c.tool, c.version), ""
		if len(got) == 1 {
			digest = got[0].Digest
		}
		if digest != c.digest || len(got) > 0 && got[0].RunID != "1" {
			t.Errorf("%s %s: %+v", c.tool, c.version, got)
		}
	}
}
