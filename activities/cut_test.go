package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/results"
	"github.com/switchyard/switchyard/activities/tokens"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// A truncated result counts the omitted bytes and says so.
func TestResults_AreCutBetweenCharacters(t *testing.T) {
	text, _ := json.Marshal(strings.Repeat("é日", 20))
	cases := []struct {
		name, output string
		limit        int
		want         string
		cut          int
	}{
		{"fits", `"short"`, 7, "short", 0},
		{"string", `"abcdefghij"`, 4, "abcd", 6},
		{"within a character", string(text), 9, "é日é", 93},
		{"object", `{"a": [1,2,3], "b": "x"}`, 8, `{"a":[1,`, 13},
		{"escapes count as what they mean", `"\u00e9\u00e9\u00e9"`, 6, "ééé", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, compiled := toolBench(t, func(s *toolspecs.Spec) { s.Execution.MaxResult = c.limit },
				answers(c.output))
			result, err := b.execute(t, executionOf(compiled), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := jsonvalue.Plain(result.Output); got != c.want || result.Cut != c.cut ||
				(result.Cut > 0) != (len(result.Notes) == 1) {
				t.Errorf("got %q, cut %d, notes %q; want %q, %d", got, result.Cut, result.Notes,
					c.want, c.cut)
			}
			if c.cut > 0 && !expect.Contains(result.Notes[0], "the limit of probe",
				fmt.Sprintf("cut to %d of", len(c.want))) {
				t.Errorf("the note is %q", result.Notes[0])
			}
		})
	}
}

// No result exceeds the server's limit for a payload, however its characters are encoded in JSON:
// the server would refuse it, and the tool would run again.
func TestResults_FitHistory(t *testing.T) {
	for _, unit := range []string{"<", "\x01", "\xff", "\u2028", "\"", "a", "é", "&日"} {
		output, err := jsonvalue.Encode(strings.Repeat(unit, (1<<20-200)/len(unit)))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []json.RawMessage{output, json.RawMessage(`[` + string(output) + `]`)} {
			cut, left := executor.Truncate(o, 1<<20)
			data, err := json.Marshal(api.Result{Output: cut})
			if err != nil || len(data) > 2<<20-1024 || left == 0 && len(cut) != len(o) {
				t.Errorf("%q: %d bytes in history, %d left out, %v", unit, len(data), left, err)
			}
			if unit == "a" && left > 0 {
				t.Errorf("%d bytes of plain text were cut to %d", len(output), len(data))
			}
		}
	}
}

// The whole of a truncated result is stored if there is a store, with a note and a reference.
// Nothing else is stored, and an unavailable store does not lose the truncated part.
func TestWholeResults_AreStored(t *testing.T) {
	var stored []string
	away := errors.New("the disk is full")
	for _, c := range []struct {
		name, output string
		failure      error
		want, whole  string
	}{
		{"fits", `"short"`, nil, "", ""},
		{"cut", `{"a":[1,2,3],"b":"xyz"}`, nil,
			"to read the whole output: starter payload ref-1", "ref-1"},
		{"away", `"abcdefghijklm"`, away, "the whole output could not be stored: the disk is full", ""},
	} {
		b, compiled := toolBench(t, func(s *toolspecs.Spec) { s.Execution.MaxResult = 8 },
			answers(c.output))
		keep := func(_ context.Context, output json.RawMessage) (string, error) {
			stored = append(stored, string(output))
			return "ref-1", c.failure
		}
		b.results = results.New(results.Config{Keep: keep})
		result, err := b.execute(t, executionOf(compiled), nil)
		if err != nil {
			t.Fatal(err)
		}
		if result.Whole != c.whole || !strings.Contains(strings.Join(result.Notes, ""), c.want) ||
			result.Tokens != tokens.Count(result.ForModel()) {
			t.Errorf("%s: got %+v", c.name, result)
		}
	}
	if got := strings.Join(stored, " "); got != `{"a":[1,2,3],"b":"xyz"} "abcdefghijklm"` {
		t.Errorf("stored: %s", got)
	}
}
