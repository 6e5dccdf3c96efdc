package toolspecs

import (
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// governed checks what a spec says for policies. Which rules there are only the workers know.
func (c *checker) governed(s Spec) {
	c.wordList("$.policies", s.Policies, "cannot name a rule")
	c.wordList("$.effects", s.Effects, "cannot name a power of a tool")
	c.wordList("$.emits", s.Emits, "cannot be a label")
	for i, effect := range s.Effects {
		if slices.Contains([]string{"read", "idempotent", "once"}, strings.ToLower(effect)) {
			c.Add(jsonpath.Index("$.effects", i), "write execution: {effect: "+strings.ToLower(effect)+"}; effects are powers such as external_write",
				"%q says what a second call would do, which is the execution's effect", effect)
		}
	}
}

func (c *checker) wordList(path string, words []string, complaint string) {
	for i, word := range words {
		switch {
		case !policies.IsName(word):
			c.Add(jsonpath.Index(path, i), "use up to 64 letters, digits, _, - and .; the first one a letter or digit", "%.80q %s", word, complaint)
		case slices.Contains(words[:i], word):
			c.Add(jsonpath.Index(path, i), "remove one", "%q is given twice", word)
		}
	}
}
