package runlist

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit/history"
)

func TestSelection_IsTheQueryOfItsFlags(t *testing.T) {
	for flags, want := range map[string]switchyard.RunQuery{
		"": {},
		"--agent it's --caller ada --tool refund --conversation talk --query A=1": {Agent: "it's",
			Caller: "ada", Tool: "refund", Conversation: "talk", Query: "A=1"},
		"--status paused --since 2026-01-31T09:00:00+01:00": {Status: history.RunPaused,
			Since: time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)},
	} {
		var s Selection
		cmd := &cobra.Command{Use: "list"}
		s.Add(cmd.Flags(), 20)
		if err := cmd.ParseFlags(strings.Fields(flags)); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(cmd); err != nil || s.RunQuery != want || s.Limit != 20 {
			t.Errorf("%s: %v, %+v, want %+v", flags, err, s, want)
		}
	}
}

func TestPointInTime_TakesDatesTimesAndAges(t *testing.T) {
	now := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-31":           time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		"2026-01-31T08:00:00Z": time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC),
		"24h":                  now.Add(-24 * time.Hour),
		"-1h":                  {},
		"yesterday":            {},
	} {
		got, err := pointInTime(text, now)
		if !got.Equal(want) || (err == nil) == want.IsZero() {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}
