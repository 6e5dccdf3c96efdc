package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// textPrefix starts structured content that passes through the SDK as text. The SDK decodes
// structured content into Go values, which loses the digits of large integers.
const textPrefix = "switchyard/json:"

const structuredContent = "structuredContent"

// forwardResult returns a result in a form that passes through the SDK without loss: structured
// content is encoded as text, and so is what the SDK does not know about tasks. What the SDK cannot
// read is normalized.
func forwardResult(result json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil || members == nil {
		return result
	}
	changed := normalizeResult(members)
	if structured := members[structuredContent]; structured != nil {
		text, err := jsonvalue.Encode(textPrefix + string(structured))
		if err != nil {
			return result
		}
		members[structuredContent], changed = text, true
	}
	if !forwardTask(result, members) && !changed {
		return result
	}
	if again, err := jsonvalue.Encode(members); err == nil {
		return again
	}
	return result
}

// forwardMessage is forwardResult for a whole message. A result that cannot be read without doubt
// becomes an error.
func forwardMessage(message []byte) []byte {
	fault := resultFault(message)
	var members map[string]json.RawMessage
	if json.Unmarshal(message, &members) != nil || members["result"] == nil {
		return message
	}
	if fault == nil {
		members["result"] = forwardResult(members["result"])
	} else {
		delete(members, "result")
		text, err := jsonvalue.Encode(fault)
		if err != nil {
			return message
		}
		members["error"] = text
	}
	if again, err := jsonvalue.Encode(members); err == nil {
		return again
	}
	return message
}

// faultCode and faultPrefix mark an error that replaces the result of a server, so that the error
// passes through the SDK and fails one request instead of the connection.
const (
	faultCode   = -32951
	faultPrefix = "switchyard/fault:"
)

// resultFault returns the error that replaces a message's result: one that is null, which the SDK
// reads as an empty result, or that has a key twice, of which it reads the last. It returns nil for
// other messages.
func resultFault(message []byte) *jsonrpc.Error {
	value, syntax := jsontext.Parse(string(message))
	if syntax != nil {
		if syntax.Rule != jsontext.RuleDuplicate {
			return nil
		}
		return asFault(fmt.Sprintf("answered with a result that cannot be read without doubt: %v",
			syntax))
	}
	members, _ := value.(map[string]any)
	if result, given := members["result"]; given && result == nil && members["method"] == nil {
		return asFault("answered with the result null")
	}
	return nil
}

// faultReason returns the reason of the fault that an error of asFault stands for, and whether it
// is one.
func faultReason(err *jsonrpc.Error) (reason string, ok bool) {
	reason, ok = strings.CutPrefix(err.Message, faultPrefix)
	return reason, ok && err.Code == faultCode
}

// asFault returns the error that replaces a server's answer because of a fault.
func asFault(reason string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: faultCode, Message: faultPrefix + reason}
}

// maxNesting is how deep the values of a message may nest for the SDK to read it.
const maxNesting = 1000

// nestsTooDeep reports whether a message nests deeper than the SDK reads.
func nestsTooDeep(message []byte) bool {
	depth := 0
	for i := 0; i < len(message) && depth <= maxNesting; i++ {
		switch message[i] {
		case '"':
			i = jsontext.EndOfString(message, i)
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
	}
	return depth > maxNesting
}

// structured returns the JSON of a result's structured content; nil if there is none.
func structured(content any) (json.RawMessage, error) {
	if text, ok := content.(string); ok {
		if raw, ok := strings.CutPrefix(text, textPrefix); ok {
			return unlessNull(json.RawMessage(raw)), nil
		}
	}
	if content == nil {
		return nil, nil
	}
	return jsonvalue.Encode(content)
}

func unlessNull(raw json.RawMessage) json.RawMessage {
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	return raw
}
