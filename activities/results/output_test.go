package results

import (
	"testing"

	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/toolspecs"
)

// The answer of an agent is JSON, alone or in a fence of any kind, or text.
func TestAnswer_IsReadAsJSON(t *testing.T) {
	anything := activitytest.Catalog(t, activitytest.Spec("sub",
		func(s *toolspecs.Spec) { s.OutputSchema = []byte(`{}`) })).All()[0]
	open := activitytest.Catalog(t, activitytest.Spec("sub", nil)).All()[0]
	for answer, want := range map[string]string{
		` {"b": 1, "a": [2]} `:            `{"b":1,"a":[2]}`,
		"```\n[1]\n```":                   `[1]`,
		"Here:\n```json\n[1]\n```\nDone.": `[1]`,
		"```[1]```":                       `[1]`,
		"```json\n[1]":                    `"` + "```json\\n[1]" + `"`,
		"plain <text>":                    `"plain <text>"`,
		`"a string"`:                      `"a string"`,
		"":                                `""`,
	} {
		if got := string(OutputFromAnswer(anything, answer)); got != want {
			t.Errorf("%q gives %s, want %s", answer, got, want)
		}
	}
	if got := string(OutputFromAnswer(open, "[1]")); got != `"[1]"` {
		t.Errorf("without a declared output: %s", got)
	}
}
