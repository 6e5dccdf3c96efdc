package toolspecs

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/templates"
)

// promptNames are the arguments that are a sub-agent's prompt where the tool has no template.
var promptNames = []string{"prompt", "task"}

// AgentPrompt returns what the agent of an agent tool is asked by a call with these validated arguments: the template
// filled; without one the argument prompt or task, else all arguments as JSON. Where the tool declares its output, the
// prompt ends with the schema that the answer must fit. An error is a validation_error.
func (c *Compiled) AgentPrompt(args json.RawMessage) (string, error) {
	values, err := templates.Values(args)
	if err != nil {
		return "", err
	}
	prompt := c.ownPrompt(values, args)
	if strings.TrimSpace(prompt) == "" {
		return "", api.Errorf(api.ErrValidation, "what the agent %s would be asked is empty", c.Spec.Entry.Agent.Name)
	}
	if c.outputJSON != nil {
		prompt += "\n\nAnswer with nothing but one JSON value that fits this JSON Schema:\n" + string(c.outputJSON)
	}
	return prompt, nil
}

func (c *Compiled) ownPrompt(values map[string]any, args json.RawMessage) string {
	if template := c.Spec.Entry.Prompt; template != "" {
		text, _ := templates.Text(template, values)
		return text
	}
	for _, name := range promptNames {
		if value, given := values[name]; given && slices.Contains(c.Spec.argumentNames(), name) {
			return api.TextOf(value)
		}
	}
	return string(args)
}
