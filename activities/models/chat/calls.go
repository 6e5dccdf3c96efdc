package chat

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// calls puts the calls of an answer together. A streamed call comes in pieces, which servers number
// and name in many ways: all with one number, with none, with the name in every piece, or the whole
// call once more at the end.
type calls struct {
	list []*call
	// tools are the names of the tools that the model was offered.
	tools []string
}

type call struct {
	// index and id are those of the server; empty where it gives none.
	index, id       string
	name, arguments string
	// attached is what else the call has, such as a signature, which the server wants back.
	attached pieces
}

// add adds a piece of a call; whole says that it is all of it.
func (s *calls) add(m members, whole bool) {
	index, id := string(m.take("index")), m.takeText("id")
	var function members
	_ = json.Unmarshal(m.take("function"), &function) // another form has no name and no arguments
	piece := call{index: index, id: id, name: function.takeText("name"),
		arguments: argumentText(function.take("arguments"))}
	delete(m, "type")
	c := s.find(piece)
	if whole || c == nil || s.begins(c, piece) {
		c = &call{index: index, id: id}
		s.list = append(s.list, c)
	}
	c.extend(piece)
	c.attached.add(m)
}

// argumentText returns a piece of arguments, which some servers send as an object.
func argumentText(value json.RawMessage) string {
	if value == nil {
		return ""
	}
	return jsonvalue.Plain(value)
}

// find returns the call that a piece belongs to unless it begins another one: the last one with its
// number, else with its id, else the last one; nil for none.
func (s *calls) find(piece call) *call {
	for _, c := range slices.Backward(s.list) {
		switch {
		case piece.index != "" && c.index == piece.index,
			piece.index == "" && piece.id != "" && c.id == piece.id:
			return c
		}
	}
	if len(s.list) == 0 || piece.index != "" || piece.id != "" {
		return nil
	}
	return s.list[len(s.list)-1]
}

// begins reports whether a piece begins another call than c, at whose place it is.
func (s *calls) begins(c *call, piece call) bool {
	switch {
	case piece.id != "" && c.id != "" && piece.id != c.id:
		return true
	case piece.name == "", piece.repeats(c):
		return false
	case c.isComplete():
		return true
	}
	return c.name != "" && piece.name != c.name && !s.continuesName(c.name, piece.name)
}

// repeats reports whether a piece says no more than which call it belongs to.
func (c *call) repeats(other *call) bool {
	return c.id != "" && c.name == other.name && isBlank(c.arguments)
}

// continuesName reports whether a piece of a name continues the one before it, because both
// together begin the name of a tool. Some servers send names in pieces.
func (s *calls) continuesName(name, piece string) bool {
	if slices.Contains(s.tools, name) {
		return false
	}
	return slices.ContainsFunc(s.tools,
		func(tool string) bool { return strings.HasPrefix(tool, name+piece) })
}

// extend adds a piece to a call. A name that is repeated is not added again. Arguments are replaced
// by a whole object that begins with those so far: some servers repeat them in each piece.
func (c *call) extend(piece call) {
	if piece.id != "" {
		c.id = piece.id
	}
	if piece.name != c.name {
		c.name += piece.name
	}
	if c.arguments != "" && strings.HasPrefix(piece.arguments, c.arguments) &&
		isObject(piece.arguments) {
		c.arguments = ""
	}
	c.arguments += piece.arguments
}

// isComplete reports whether the arguments so far are a whole object.
func (c *call) isComplete() bool { return isObject(c.arguments) }

func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

// finish drops calls that the server told twice, and gives ids to those without. Servers want back
// the ids of calls in their results, and some send none.
func (s *calls) finish() {
	var kept []*call
	for i, c := range s.list {
		twice := slices.ContainsFunc(kept, func(k *call) bool {
			return c.id != "" && k.id == c.id && k.name == c.name && k.arguments == c.arguments
		})
		if twice {
			continue
		}
		if isBlank(c.id) || slices.ContainsFunc(kept, func(k *call) bool { return k.id == c.id }) {
			c.id = models.CallID(strconv.Itoa(i) + c.name + c.arguments)
		}
		kept = append(kept, c)
	}
	s.list = kept
}

// native returns the call as the server wants it back, in a form that it accepts.
func (c *call) native() map[string]any {
	out := map[string]any{"id": c.id, "type": "function", "function": map[string]string{
		"name": models.LegalName(c.name), "arguments": models.LegalArguments(c.arguments)}}
	for name, value := range c.attached.whole() {
		out[name] = value
	}
	return out
}
