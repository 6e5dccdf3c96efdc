package audit_test

import (
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

// A watcher sees the last part of texts from time to time. Gaps are marked, and each attempt and
// each step starts a new text.
func TestTexts_ReturnNewTextsOnceAndInOrder(t *testing.T) {
	end := func(step string, attempt, from int, text string) []audit.Running {
		return []audit.Running{
			{Kind: audit.KindRun},
			{
				Kind: audit.KindStep,
				ID:   step,
				Live: &api.Live{Turn: 3, Attempt: attempt, From: from, Text: text},
			},
		}
	}
	now := time.Now()
	var texts audit.Texts
	cases := []struct {
		name    string
		running []audit.Running
		want    []api.Live
	}{
		{"nothing runs", nil, nil},
		{"first", end("turn-3", 1, 0, "one "), []api.Live{{Attempt: 1, From: 0, Text: "one "}}},
		{"the same again", end("turn-3", 1, 0, "one "), nil},
		{"more", end("turn-3", 1, 0, "one two "), []api.Live{{Attempt: 1, From: 4, Text: "two "}}},
		{
			"an end that overlaps",
			end("turn-3", 1, 6, "o three"),
			[]api.Live{{Attempt: 1, From: 8, Text: "three"}},
		},
		{"nothing now", []audit.Running{{Kind: audit.KindStep, ID: "turn-3"}}, nil},
		{"missed", end("turn-3", 1, 20, "five"), []api.Live{{Attempt: 1, From: 20, Text: "five"}}},
		{"older than known", end("turn-3", 1, 0, "one"), nil},
		{
			"another attempt",
			end("turn-3", 2, 0, "uno"),
			[]api.Live{{Attempt: 2, From: 0, Text: "uno"}},
		},
		{"another step", end("summary", 2, 0, "un"), []api.Live{{Attempt: 2, From: 0, Text: "un"}}},
	}
	for _, c := range cases {
		var got []api.Live
		for _, e := range texts.Next(c.running, now) {
			if e.Type != api.EventStepDelta || e.Turn != 3 || !e.Time.Equal(now) ||
				e.Sequence != 0 {
				t.Errorf("%s: %+v", c.name, e)
			}
			got = append(got, *e.Delta)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
