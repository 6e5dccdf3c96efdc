package mcpclient

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// textPrefix starts structured content that passes through the SDK as text. The SDK decodes
// structured content into Go values, which loses the digits of large integers.
const textPrefix = "switchyard/json:"

const structuredContent = "structuredContent"

// forwardResult returns a result whose structured content, if any, is encoded as text.
func forwardResult(result json.RawMessage) json.RawMessage {
	if !bytes.Contains(result, []byte(structuredContent)) {
		return result
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil || members[structuredContent] == nil {
		return result
	}
	text, err := api.EncodeJSON(textPrefix + string(members[structuredContent]))
	if err != nil {
		return result
	}
	members[structuredContent] = text
	if again, err := api.EncodeJSON(members); err == nil {
		return again
	}
	return result
}

// forwardMessage is forwardResult for a whole message.
func forwardMessage(message []byte) []byte {
	if !bytes.Contains(message, []byte(structuredContent)) {
		return message
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(message, &members) != nil || members["result"] == nil {
		return message
	}
	members["result"] = forwardResult(members["result"])
	if again, err := api.EncodeJSON(members); err == nil {
		return again
	}
	return message
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
	return api.EncodeJSON(content)
}

func unlessNull(raw json.RawMessage) json.RawMessage {
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	return raw
}
