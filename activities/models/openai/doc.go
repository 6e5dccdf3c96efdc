// Package openai calls models by OpenAI chat completions.
package openai
