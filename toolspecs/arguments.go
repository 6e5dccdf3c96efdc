package toolspecs

import (
	"cmp"
	"encoding/json"

	"github.com/switchyard/switchyard/api"
)

// Arguments reads the text of a call's arguments as its caller wrote it and returns them validated: compact JSON,
// declared arguments in their declared order, then others sorted, defaults filled in at any depth. An empty text is
// an empty object. problems are all that is wrong, at most 100 and a last one that counts the rest; with any there are
// no arguments. notes tell what was dropped or read as another type.
//
// mode decides how undeclared arguments and numbers in quotes are treated; empty leaves it to the spec, whose default
// is strict.
func (c *Compiled) Arguments(text string, mode api.Mode) (args json.RawMessage, notes []string, problems []api.Problem) {
	return c.input.Arguments(text, cmp.Or(mode, c.Spec.Execution.Arguments) == api.ModeLenient)
}
