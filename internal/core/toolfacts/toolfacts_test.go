package toolfacts

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A pattern matches as the regular expression with .* in place of * does.
func TestToolPatterns_MatchAnyTextForStars(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,8}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[ab]{0,12}`).Draw(t, "name")
		want := regexp.MustCompile("^" + strings.ReplaceAll(pattern, "*", ".*") + "$").
			MatchString(name)
		if got := Selects((Facts{Name: name}), pattern); got != want {
			t.Errorf("%q matches %q: %v", pattern, name, got)
		}
	})
}

// Workflow code matches patterns, so that a pattern must not delay a workflow task.
func TestToolPatterns_WithManyStarsTakeLinearTime(t *testing.T) {
	tool := Facts{Name: strings.Repeat("a", 64)}
	if Selects(tool, strings.Repeat("*a", 30)+"*b") {
		t.Error("the pattern matches a name without b")
	}
	if !Selects(tool, strings.Repeat("*a", 64)+"*") {
		t.Error("the pattern does not match")
	}
}
