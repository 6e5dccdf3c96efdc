// Package messages calls models by Anthropic messages.
package messages
