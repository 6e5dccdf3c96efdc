package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// maxFilled is how deep empty lists become empty objects: capabilities.tasks.requests.tools.call
// is the deepest that a client reads.
const maxFilled = 5

// normalizeResult changes what servers write in place of what the protocol asks for, as far as it
// has one meaning: an empty list for an empty object, as PHP encodes it, content that is one part
// or a text, and parts and tools that the SDK cannot read. It reports whether it changed something.
func normalizeResult(result map[string]json.RawMessage) (changed bool) {
	changed = fillObjects(result, "_meta", "serverInfo")
	for name, normalize := range map[string]func(json.RawMessage) (json.RawMessage, bool){
		"capabilities": func(value json.RawMessage) (json.RawMessage, bool) {
			return jsonvalue.FillObjects(value, maxFilled)
		},
		"content": normalizeContent, "isError": normalizeBool, "tools": normalizeTools,
		"nextCursor": normalizeCursor,
	} {
		if value, ok := normalize(result[name]); ok {
			result[name], changed = value, true
		}
	}
	return changed
}

// fillObjects makes members that are empty lists empty objects, and reports whether there are any.
func fillObjects(members map[string]json.RawMessage, names ...string) (changed bool) {
	for _, name := range names {
		if filled, ok := jsonvalue.FillObjects(members[name], 0); ok {
			members[name], changed = filled, true
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

// isEmptyObject reports whether a value is {}.
func isEmptyObject(value json.RawMessage) bool {
	value = bytes.TrimSpace(value)
	return len(value) > 1 && value[0] == '{' && len(bytes.TrimSpace(value[1:])) == 1
}

// isText reports whether a value is a JSON string.
func isText(value json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(value), []byte(`"`))
}

// decodeString returns the text of a JSON string; empty for anything else.
func decodeString(value json.RawMessage) (text string) {
	_ = json.Unmarshal(value, &text)
	return text
}

// encodeString returns a text as a JSON string.
func encodeString(text string) json.RawMessage {
	data, err := jsonvalue.Encode(text)
	if err != nil { // texts can be encoded
		panic(err)
	}
	return data
}

// normalizeBool returns a truth value that is written as text or as a number.
func normalizeBool(value json.RawMessage) (json.RawMessage, bool) {
	switch strings.ToLower(string(bytes.TrimSpace(value))) {
	case `"true"`, `"1"`, "1":
		return json.RawMessage(`true`), true
	case `"false"`, `"0"`, "0":
		return json.RawMessage(`false`), true
	}
	return nil, false
}

// normalizeCursor returns the cursor of the next page as text: a number is one, anything else is
// the end of the list.
func normalizeCursor(value json.RawMessage) (json.RawMessage, bool) {
	text := string(bytes.TrimSpace(value))
	switch {
	case text == "" || isText(value):
		return nil, false
	case strings.Trim(text, "0123456789") == "":
		return encodeString(text), true
	}
	return encodeString(""), true
}

// normalizeContent returns content as a list of parts that the SDK reads, if it is not.
func normalizeContent(content json.RawMessage) (json.RawMessage, bool) {
	content = bytes.TrimSpace(content)
	if unlessNull(content) == nil {
		return nil, false
	}
	if isEmptyObject(content) {
		return json.RawMessage(`[]`), true
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

// normalizePart returns a part in a form that the SDK reads, if it is not. What cannot be read in
// any way becomes a text that describes it.
func normalizePart(part json.RawMessage) (json.RawMessage, bool) {
	if isText(part) {
		return encodePart(map[string]any{"type": "text", "text": part}), true
	}
	fields, kind := decodePart(part)
	switch {
	case !slices.Contains(knownParts, kind):
		return describePart(part, kind), true
	case isReadable(part):
		return nil, false
	}
	repairPart(fields)
	if repaired, ok := encodedIf(true, fields); ok && isReadable(repaired) {
		return repaired, true
	}
	return describePart(part, kind), true
}

// decodePart returns the fields of a part and its type. A part without a type that has a text is
// one.
func decodePart(part json.RawMessage) (fields map[string]json.RawMessage, kind string) {
	if json.Unmarshal(part, &fields) != nil {
		return nil, ""
	}
	if fields["type"] == nil && isText(fields["text"]) {
		fields["type"] = encodeString("text")
	}
	return fields, decodeString(fields["type"])
}

// isReadable reports whether the SDK reads a part.
func isReadable(part json.RawMessage) bool {
	result, ok := encodedIf(true, map[string]any{"content": []json.RawMessage{part}})
	return ok && new(mcp.CallToolResult).UnmarshalJSON(result) == nil
}

// repairPart changes the fields of a part, and of its resource, that have one meaning although the
// SDK cannot read them. It leaves out those that no result of a call has.
func repairPart(fields map[string]json.RawMessage) {
	repairFields(fields)
	var resource map[string]json.RawMessage
	if json.Unmarshal(fields["resource"], &resource) != nil || resource == nil {
		return
	}
	repairFields(resource) // a resource has none itself, however deep a server nests them
	if whole, ok := encodedIf(true, resource); ok {
		fields["resource"] = whole
	}
}

// repairFields is repairPart without the resource.
func repairFields(fields map[string]json.RawMessage) {
	for _, name := range []string{"annotations", "_meta", "icons"} {
		delete(fields, name)
	}
	for _, name := range []string{"data", "blob"} {
		if fields[name] != nil {
			fields[name] = plainBase64(fields[name])
		}
	}
	if text := unlessNull(fields["text"]); text != nil && !isText(text) {
		fields["text"] = encodeString(string(text))
	}
}

// plainBase64 returns bytes in the usual alphabet of base64, with padding, and without the
// beginning of an address of the scheme data. What is not base64 stays.
func plainBase64(value json.RawMessage) json.RawMessage {
	text := decodeString(value)
	if _, encoded, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(text, "data:") {
		text = encoded
	}
	plain := strings.NewReplacer("-", "+", "_", "/", "=", "", "\n", "", "\r", "", "\t", "", " ",
		"").Replace(text)
	data, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil || !isText(value) {
		return value
	}
	return encodeString(base64.StdEncoding.EncodeToString(data))
}

// partKey is a key in _meta of a text that is the JSON of a part that cannot be read. Its value is
// the type of the part.
const partKey = "switchyard/part"

// describePart returns a text in place of a part that the SDK cannot read.
func describePart(part json.RawMessage, kind string) json.RawMessage {
	return encodePart(map[string]any{"type": "text", "text": plainJSON(part),
		"_meta": map[string]string{partKey: kind}})
}

// plainJSON returns JSON without the escapes of slashes that PHP writes, in which secrets are not
// found.
func plainJSON(data json.RawMessage) string {
	return strings.ReplaceAll(string(bytes.TrimSpace(data)), `\/`, "/")
}

// encodePart returns a part of texts as JSON.
func encodePart(part map[string]any) json.RawMessage {
	data, err := jsonvalue.Encode(part)
	if err != nil { // texts can be encoded
		panic(err)
	}
	return data
}

// Unreadable returns the type of a part that cannot be read and is passed on as the text of its
// JSON, and whether a part is such a text.
func Unreadable(part mcp.Content) (kind string, ok bool) {
	if text, isText := part.(*mcp.TextContent); isText {
		kind, ok = text.Meta[partKey].(string)
	}
	return sample([]byte(kind)), ok
}

// normalizeTools returns a list of tools that the SDK reads, if it is not.
func normalizeTools(tools json.RawMessage) (json.RawMessage, bool) {
	if isEmptyObject(tools) {
		return json.RawMessage(`[]`), true
	}
	var list []json.RawMessage
	if json.Unmarshal(tools, &list) != nil {
		return nil, false
	}
	changed := false
	for i, tool := range list {
		if known, ok := normalizeTool(tool); ok {
			list[i], changed = known, true
		}
	}
	return encodedIf(changed, list)
}

// toolKey is a key in _meta of a tool that takes the place of one that cannot be read.
const toolKey = "switchyard/unreadable"

// normalizeTool returns a tool in a form that the SDK reads, if it is not. It leaves out what
// cannot be read and is not needed for calls. A tool without a name that is a text becomes one that
// cannot be called.
func normalizeTool(tool json.RawMessage) (json.RawMessage, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(tool, &fields) != nil || fields == nil || !hasReadable(fields, "name") {
		return encodedIf(true, map[string]any{"name": sample(tool), "_meta": map[string]bool{
			toolKey: true}})
	}
	changed := fillObjects(fields, "inputSchema", "outputSchema")
	for _, name := range []string{"annotations", "_meta", "icons", "title", "description"} {
		if !hasReadable(fields, name) {
			delete(fields, name)
			changed = true
		}
	}
	return encodedIf(changed, fields)
}

// hasReadable reports whether the SDK reads a member of a tool.
func hasReadable(tool map[string]json.RawMessage, name string) bool {
	if tool[name] == nil {
		return true
	}
	member, ok := encodedIf(true, map[string]json.RawMessage{name: tool[name]})
	return ok && json.Unmarshal(member, new(mcp.Tool)) == nil
}
