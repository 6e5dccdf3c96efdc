// Package anthropic calls models by Anthropic messages.
package anthropic
