// Package models defines the interface to models, and what providers share: prompts, errors and
// streams.
package models
