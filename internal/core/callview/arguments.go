// Package callview shows calls to people: in one line, and without sensitive values.
package callview

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

var allMasked = &redaction.Mask{All: true}

// ArgumentMask returns which arguments of a call are sensitive.
func ArgumentMask(t api.Tool) *redaction.Mask {
	if t.Mask != nil || len(t.Sensitive) == 0 {
		return t.Mask
	}
	m := &redaction.Mask{Keys: make(map[string]*redaction.Mask, len(t.Sensitive))}
	for _, name := range t.Sensitive {
		m.Keys[name] = allMasked
	}
	return m
}

// RedactArguments returns a call's arguments without their sensitive parts.
func RedactArguments(t api.Tool, arguments json.RawMessage) json.RawMessage {
	return ArgumentMask(t).Redact(arguments)
}

// CallLine describes a call of the tool in one line, without the sensitive parts of its arguments.
func CallLine(t api.Tool, arguments json.RawMessage) string {
	return Line(t.Name, RedactArguments(t, arguments), nil)
}
