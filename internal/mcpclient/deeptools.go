package mcpclient

import (
	"bytes"
	"fmt"

	"github.com/switchyard/switchyard/internal/jsontext"
)

const (
	// toolLevel is the depth in a message at which the fields of a listed tool are: within the
	// message, its result, the list and the tool.
	toolLevel = 4
	// maxSchemaNesting is how deep the schema of a listed tool may nest.
	maxSchemaNesting = maxNesting - toolLevel
	// deepMark takes the place of values that nest too deep.
	deepMark = `"switchyard/too-deep"`
)

// listFields are parts of every message with a list of tools.
var listFields = [][]byte{[]byte(`"result"`), []byte(`"tools"`)}

// withoutDeepTools returns a message that the SDK can read although a tool of its list nests deeper
// than maxNesting: the values below are replaced by deepMark. It returns all other messages as they
// are, because only a listed tool can be left out without harm to the rest.
func withoutDeepTools(message []byte) []byte {
	for _, field := range listFields {
		if !bytes.Contains(message, field) {
			return message
		}
	}
	if !nestsTooDeep(message) {
		return message
	}
	c := deepCutter{message: message}
	for i := 0; i < len(message); i++ {
		switch message[i] {
		case '"':
			i = c.text(i)
		case '{', '[':
			i = c.opens(i)
		case '}', ']':
			c.depth--
		}
	}
	return append(c.shallow, message[c.copied:]...)
}

// deepCutter copies a message without the deep values in its list of tools.
type deepCutter struct {
	message []byte
	depth   int
	// keys are the current keys of the message and of its result, in quotes.
	keys [2][]byte
	// shallow is the copy of the first copied bytes.
	shallow []byte
	copied  int
}

// text notes a string that is a key of the message or of its result. It returns the string's end.
func (c *deepCutter) text(start int) int {
	end := jsontext.EndOfString(c.message, start)
	if c.depth < 1 || c.depth > len(c.keys) || end == len(c.message) {
		return end
	}
	if rest := bytes.TrimLeft(c.message[end+1:], " \t\r\n"); bytes.HasPrefix(rest, []byte(":")) {
		c.keys[c.depth-1] = c.message[start : end+1]
	}
	return end
}

// opens replaces the object or list that begins at start if it is too deep within the list of
// tools. It returns where to go on.
func (c *deepCutter) opens(start int) int {
	c.depth++
	if c.depth <= maxNesting || !bytes.Equal(c.keys[0], listFields[0]) ||
		!bytes.Equal(c.keys[1], listFields[1]) {
		return start
	}
	end := endOfValue(c.message, start)
	c.shallow = append(append(c.shallow, c.message[c.copied:start]...), deepMark...)
	c.copied = min(end+1, len(c.message))
	c.depth--
	return end
}

// endOfValue returns where the object or list that begins at start ends; the length of the text if
// it does not.
func endOfValue(text []byte, start int) int {
	depth := 0
	for i := start; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = jsontext.EndOfString(text, i)
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// isCut reports whether a schema was too deep to be read.
func isCut(schema []byte) bool { return bytes.Contains(schema, []byte(deepMark)) }

// Unusable returns why the tool cannot be called; empty if it can.
func (t Tool) Unusable() string {
	switch {
	case t.Ambiguous:
		return "the server lists different tools of this name; correct the server"
	case t.unreadable:
		return "the server lists it without a name that is a text; correct the server"
	case t.tooDeep:
		return fmt.Sprintf("a schema of the tool nests more than %d levels deep; correct the server",
			maxSchemaNesting)
	}
	return ""
}
