// Package wire checks the JSON-RPC messages of clients before the SDK reads them, which accepts or
// changes some that are invalid, and ends connections for others.
package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Message is what decides how a message is served.
type Message struct {
	// Method is empty for a response.
	Method string
	// ID is nil for a notification.
	ID json.RawMessage
	// Params are as the client sent them; nil for none.
	Params json.RawMessage
	// Body is the whole message.
	Body []byte
}

// IsCall reports whether the message expects a response.
func (m Message) IsCall() bool { return m.Method != "" && m.ID != nil }

// maxID bounds the numbers that are ids: JSON's numbers are exact up to there.
const maxID = 1 << 53

// Check returns a message, or why it is not one. An error keeps the id if the message has a valid
// one.
func Check(data []byte) (Message, *jsonrpc.Error) {
	if !json.Valid(data) {
		return Message{}, &jsonrpc.Error{Code: jsonrpc.CodeParseError,
			Message: "the message is not valid JSON"}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || fields == nil {
		return Message{}, invalid("the message is not a JSON object; batches are not supported")
	}
	m := Message{ID: fields["id"], Body: normalize(data, fields)}
	if m.ID != nil && !validID(m.ID) {
		return Message{}, invalid("the id is neither a text nor an integer up to 2^53")
	}
	decoded, err := jsonrpc.DecodeMessage(m.Body)
	if err != nil {
		return m, invalid(err.Error())
	}
	if r, ok := decoded.(*jsonrpc.Request); ok {
		if r.Method == "" {
			return m, invalid("the method is empty")
		}
		m.Method, m.Params = r.Method, r.Params
	}
	return m, nil
}

// optionalObjects are the parameters that are objects and may be missing. Some clients send null
// for none or, as PHP encodes an empty object, [].
var optionalObjects = []string{"arguments", "_meta", "capabilities", "context"}

// maxFilled is how deep empty lists in the capabilities of a client become empty objects.
const maxFilled = 4

// normalize returns a message with those members, without optional objects in its parameters that
// are null or an empty list, and with empty objects for the empty lists of PHP.
func normalize(message []byte, members map[string]json.RawMessage) []byte {
	params, changed := normalizeParams(members["params"])
	if !changed {
		return message
	}
	whole := maps.Clone(members)
	var err error
	if whole["params"], err = jsonvalue.Encode(params); err != nil {
		return message
	}
	normalized, err := jsonvalue.Encode(whole)
	if err != nil {
		return message
	}
	return normalized
}

func normalizeParams(raw json.RawMessage) (params map[string]json.RawMessage, changed bool) {
	if filled, ok := jsonvalue.FillObjects(raw, 0); ok {
		raw, changed = filled, true
	}
	if json.Unmarshal(raw, &params) != nil {
		return nil, false
	}
	for _, name := range optionalObjects {
		if isNone(params[name]) {
			delete(params, name)
			changed = true
		}
	}
	if filled, ok := jsonvalue.FillObjects(params["capabilities"], maxFilled); ok {
		params["capabilities"], changed = filled, true
	}
	return params, changed
}

// isNone reports whether a value is null or an empty list.
func isNone(value json.RawMessage) bool {
	var list []json.RawMessage
	return value != nil && json.Unmarshal(value, &list) == nil && len(list) == 0
}

func invalid(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: message}
}

func validID(id json.RawMessage) bool {
	if bytes.HasPrefix(id, []byte(`"`)) {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -maxID <= n && n <= maxID
}

// encode returns the response with an error to the message with that id; nil for none.
func encode(id json.RawMessage, e *jsonrpc.Error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	data, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, e})
	if err != nil { // the data of the error is not JSON
		panic(err)
	}
	return data
}

// Refuse writes an error as the response to an HTTP request.
func Refuse(w http.ResponseWriter, status int, id json.RawMessage, e *jsonrpc.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(id, e)) // a client that is gone needs no answer
}
