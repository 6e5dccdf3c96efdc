package gateway

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/console/arguments"
)

// answerName is the field of a form that asks for one value.
const answerName = "answer"

// flatSchema is a JSON Schema as far as it decides how to ask for a value.
type flatSchema struct {
	Type       any                        `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Items      *choices                   `json:"items"`
}

// choices is the schema of the values of a list, as far as a form can offer them.
type choices struct {
	Enum  []string `json:"enum"`
	AnyOf []struct {
		Const *string `json:"const"`
	} `json:"anyOf"`
}

// fitsForm reports whether a form can offer the values: texts, by themselves or with titles.
func (c *choices) fitsForm() bool {
	if c == nil {
		return false
	}
	for _, choice := range c.AnyOf {
		if choice.Const == nil {
			return false
		}
	}
	return len(c.Enum)+len(c.AnyOf) > 0
}

// primitive reports whether a form can ask for a value of the schema.
func (s flatSchema) primitive() bool {
	switch s.Type {
	case "string", "number", "integer", "boolean":
		return true
	}
	return false
}

func decodeSchema(data json.RawMessage) (s flatSchema, ok bool) {
	return s, json.Unmarshal(data, &s) == nil
}

// needsWrapping reports whether the answer to a question is one field of a form, because its schema
// is not that of an object.
func needsWrapping(schema json.RawMessage) bool {
	s, ok := decodeSchema(schema)
	return !ok || s.Type != "object"
}

// elicitation returns what a call asks as a form; nil if no form can ask for it. Forms have flat
// fields only.
func elicitation(s api.SessionCallStatus) *mcp.ElicitParams {
	switch {
	case s.State == api.SessionCallAwaitsApproval && s.Approval != nil:
		return &mcp.ElicitParams{Mode: "form", Message: "Approve this call?\n\n" +
			arguments.Visible(s.Approval.Text), RequestedSchema: approvalForm}
	case s.State == api.SessionCallAwaitsAnswer && s.Question != nil:
		if form := formFromSchema(s.Question.Schema); form != nil {
			return &mcp.ElicitParams{Mode: "form", Message: s.Question.Text,
				RequestedSchema: form}
		}
	}
	return nil
}

var approvalForm = json.RawMessage(`{"type":"object","required":["decision"],"properties":{` +
	`"decision":{"type":"string","enum":["approve","deny"],"title":"Decision"},` +
	`"reason":{"type":"string","title":"Reason"}}}`)

// textForm asks for a text.
var textForm = json.RawMessage(`{"type":"object","required":["answer"],"properties":{` +
	`"answer":{"type":"string","title":"Answer"}}}`)

// formFromSchema returns the form for a value of the schema; nil if there is none.
func formFromSchema(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return textForm
	}
	s, ok := decodeSchema(schema)
	switch {
	case ok && s.primitive():
		form, err := json.Marshal(map[string]any{"type": "object", "required": []string{answerName},
			"properties": map[string]json.RawMessage{answerName: schema}})
		if err != nil {
			return nil
		}
		return form
	case ok && s.flat():
		return schema
	}
	return nil
}

// flat reports whether the schema is that of an object of primitive values and of lists of choices.
func (s flatSchema) flat() bool {
	for _, property := range s.Properties {
		p, ok := decodeSchema(property)
		if !ok || !p.primitive() && (p.Type != "array" || !p.Items.fitsForm()) {
			return false
		}
	}
	return s.Type == "object" && len(s.Properties) > 0
}
