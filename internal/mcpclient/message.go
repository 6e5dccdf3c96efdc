package mcpclient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/switchyard/switchyard/internal/jsontext"
)

// byteOrderMark begins the output of programs on Windows.
var byteOrderMark = []byte("\uFEFF")

// normalizeMessage changes what servers write around a result or a request in place of what the
// protocol asks for, as far as it has one meaning: an id as text, an empty list for an empty
// object, an error in a form of its own. A message that has a key twice stays, for resultFault.
func normalizeMessage(message []byte) []byte {
	message = bytes.TrimPrefix(message, byteOrderMark)
	var members map[string]json.RawMessage
	if json.Unmarshal(message, &members) != nil {
		return message
	}
	var changed bool
	if members["method"] == nil {
		changed = normalizeResponse(members)
	} else {
		changed = fillObjects(members, "params")
	}
	if normalized, ok := encodedIf(changed, members); ok && !hasDuplicates(message) {
		return normalized
	}
	return message
}

func hasDuplicates(message []byte) bool {
	_, syntax := jsontext.Parse(string(message))
	return syntax != nil && syntax.Rule == jsontext.RuleDuplicate
}

func normalizeResponse(members map[string]json.RawMessage) (changed bool) {
	if id, ok := numberID(members["id"]); ok {
		members["id"], changed = id, true
	}
	if unlessNull(members["result"]) != nil && isEmpty(members["error"]) {
		delete(members, "error")
		changed = true
	}
	if failure, ok := normalizeError(members["error"]); ok {
		members["error"], changed = failure, true
	}
	return fillObjects(members, "result") || changed
}

// isEmpty reports whether the error beside a result says nothing.
func isEmpty(failure json.RawMessage) bool {
	return slices.Contains([]string{"[]", "{}", `""`, "false"}, string(bytes.TrimSpace(failure)))
}

// maxID bounds the numbers that are ids: JSON's numbers are exact up to there.
const maxID = 1 << 53

// numberID returns the id of a response as an integer, if it is one in another form. The ids of our
// requests are integers, and some servers answer with their text.
func numberID(id json.RawMessage) (json.RawMessage, bool) {
	text := strings.TrimSpace(cmp.Or(decodeString(id), string(id)))
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > maxID {
		return nil, false
	}
	number := strconv.FormatInt(int64(n), 10)
	return json.RawMessage(number), number != string(bytes.TrimSpace(id))
}

// normalizeError returns an error that the SDK cannot read in the form of the protocol, with the
// server's words.
func normalizeError(failure json.RawMessage) (json.RawMessage, bool) {
	var readable jsonrpc.Error
	if unlessNull(failure) == nil || json.Unmarshal(failure, &readable) == nil {
		return nil, false
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(failure, &fields) // what is no object has no fields
	message := decodeString(fields["message"])
	if code := unlessNull(fields["code"]); message != "" && code != nil {
		message = cmp.Or(decodeString(code), string(code)) + ": " + message
	}
	return encodedIf(true, jsonrpc.Error{Code: jsonrpc.CodeInternalError,
		Message: cmp.Or(message, decodeString(failure), plainJSON(failure))})
}

// explainUnreadable returns why a message, or a part of it, cannot be read: the field and what it
// is, if the error names them.
func explainUnreadable(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Field == "" {
		return sample([]byte(plainCause(err).Error()))
	}
	// The SDK's decoder has the rest of the message in place of the type, in quotes or not.
	value, failed := strconv.Unquote(wrong.Value)
	if failed != nil {
		value = wrong.Value
	}
	return fmt.Sprintf("the field %s is %s", wrong.Field, describeValue(value))
}

// describeValue returns the type of a JSON value that begins a text.
func describeValue(text string) string {
	switch text = strings.TrimSpace(text); {
	case strings.HasPrefix(text, "{"):
		return "an object"
	case strings.HasPrefix(text, "["):
		return "a list"
	case strings.HasPrefix(text, `"`):
		return "a text"
	case strings.HasPrefix(text, "t"), strings.HasPrefix(text, "f"):
		return "true or false"
	}
	return "a number"
}

// explainUnreadableLine is explainUnreadable for a whole message, which may not be JSON.
func explainUnreadableLine(line []byte, err error) string {
	if _, syntax := jsontext.Parse(string(line)); syntax != nil {
		return sample([]byte(syntax.Error()))
	}
	return explainUnreadable(err)
}
