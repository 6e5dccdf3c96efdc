package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// byteOrderMark begins the output of programs on Windows.
var byteOrderMark = []byte("\uFEFF")

// normalizeResult changes what servers write in place of what the protocol asks for, as far as it
// has one meaning: an empty list for an empty object, as PHP encodes it, content that is one part
// or a text, and parts that the SDK cannot read. It reports whether it changed something.
func normalizeResult(result map[string]json.RawMessage) (changed bool) {
	changed = fillObjects(result, "capabilities", "_meta")
	if capabilities, ok := normalizeObjects(result["capabilities"], nil); ok {
		result["capabilities"], changed = capabilities, true
	}
	if content, ok := normalizeContent(result["content"]); ok {
		result["content"], changed = content, true
	}
	var tools []json.RawMessage
	if json.Unmarshal(result["tools"], &tools) != nil {
		return changed
	}
	other := false
	for i, tool := range tools {
		if whole, ok := normalizeObjects(tool, toolObjects); ok {
			tools[i], other = whole, true
		}
	}
	if list, ok := encodedIf(other, tools); ok {
		result["tools"], changed = list, true
	}
	return changed
}

// toolObjects and partObjects are the members of tools and of parts that are objects.
var (
	toolObjects = []string{"inputSchema", "outputSchema", "annotations", "execution", "_meta"}
	partObjects = []string{"annotations", "_meta"}
)

// normalizeObjects returns an object in which members that are empty lists are empty objects: those
// of these names, or all. It reports whether there are any.
func normalizeObjects(object json.RawMessage, names []string) (json.RawMessage, bool) {
	var members map[string]json.RawMessage
	if !bytes.Contains(object, []byte("[")) || json.Unmarshal(object, &members) != nil {
		return nil, false
	}
	if names == nil {
		names = slices.Collect(maps.Keys(members))
	}
	return encodedIf(fillObjects(members, names...), members)
}

// fillObjects makes members that are empty lists empty objects, and reports whether there are any.
func fillObjects(members map[string]json.RawMessage, names ...string) (changed bool) {
	for _, name := range names {
		if isEmptyList(members[name]) {
			members[name], changed = json.RawMessage(`{}`), true
		}
	}
	return changed
}

// encodedIf encodes a value that was changed.
func encodedIf(changed bool, value any) (json.RawMessage, bool) {
	if !changed {
		return nil, false
	}
	data, err := jsonvalue.Encode(value)
	return data, err == nil
}

func isEmptyList(value json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(value, &list) == nil && list != nil && len(list) == 0
}

// normalizeContent returns content as a list of parts that the SDK reads, if it is not.
func normalizeContent(content json.RawMessage) (json.RawMessage, bool) {
	content = bytes.TrimSpace(content)
	if len(content) == 0 || bytes.Equal(content, []byte("null")) {
		return nil, false
	}
	var parts []json.RawMessage
	changed := content[0] != '['
	if changed {
		parts = []json.RawMessage{content}
	} else if json.Unmarshal(content, &parts) != nil {
		return nil, false
	}
	for i, part := range parts {
		if known, ok := normalizePart(part); ok {
			parts[i], changed = known, true
		}
	}
	return encodedIf(changed, parts)
}

// knownParts are the types of parts that the SDK reads in results.
var knownParts = []string{"text", "image", "audio", "resource", "resource_link"}

// normalizePart returns a part in a form that the SDK reads, if it is not.
func normalizePart(part json.RawMessage) (json.RawMessage, bool) {
	var text string
	if json.Unmarshal(part, &text) == nil {
		return textPart(text), true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(part, &fields) != nil {
		return textPart(string(part)), true
	}
	kind := decodeString(fields["type"])
	switch {
	case kind == "" && decodeString(fields["text"]) != "":
		return textPart(decodeString(fields["text"])), true
	case !slices.Contains(knownParts, kind):
		return textPart(fmt.Sprintf("a part of the type %q: %s", kind, part)), true
	case kind == "image" || kind == "audio":
		return normalizeBytes(kind, fields, fields, "data")
	case kind == "resource":
		return normalizeResource(part, fields)
	}
	return normalizeObjects(part, partObjects)
}

func normalizeResource(part json.RawMessage, fields map[string]json.RawMessage) (json.RawMessage,
	bool) {
	var resource map[string]json.RawMessage
	if json.Unmarshal(fields["resource"], &resource) != nil {
		return textPart(fmt.Sprintf("a part of the type \"resource\": %s", part)), true
	}
	return normalizeBytes("resource", fields, resource, "blob")
}

// normalizeBytes writes the bytes of a part in the usual alphabet of base64, with padding. within
// has them under a name: the part itself, or its resource.
func normalizeBytes(kind string, part, within map[string]json.RawMessage,
	name string) (json.RawMessage, bool) {
	text := decodeString(within[name])
	if _, err := base64.StdEncoding.DecodeString(text); err == nil {
		return nil, false
	}
	plain := strings.NewReplacer("-", "+", "_", "/", "=", "", "\n", "", "\r", "", " ", "").Replace(text)
	data, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil {
		return textPart(fmt.Sprintf("a part of the type %q whose %s is not base64", kind, name)), true
	}
	encoded, err := jsonvalue.Encode(data)
	if err != nil {
		return nil, false
	}
	within[name] = encoded
	if kind == "resource" {
		if part["resource"], err = jsonvalue.Encode(within); err != nil {
			return nil, false
		}
	}
	return encodedIf(true, part)
}

// decodeString returns the text of a JSON string; empty for anything else.
func decodeString(value json.RawMessage) (text string) {
	_ = json.Unmarshal(value, &text)
	return text
}

func textPart(text string) json.RawMessage {
	data, err := jsonvalue.Encode(map[string]string{"type": "text", "text": text})
	if err != nil { // texts can be encoded
		panic(err)
	}
	return data
}

// numberID returns the id of a response as a number if it is one as text. The ids of our requests
// are numbers, and some servers answer with their text.
func numberID(id jsonrpc.ID) jsonrpc.ID {
	text, ok := id.Raw().(string)
	if !ok {
		return id
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return id
	}
	number, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return id
	}
	return number
}
