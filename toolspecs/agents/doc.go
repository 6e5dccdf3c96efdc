// Package agents decodes agent files: the model, the tools, the limits, the hooks and the policies
// of an agent.
package agents
