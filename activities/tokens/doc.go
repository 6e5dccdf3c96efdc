// Package tokens counts the tokens of texts.
package tokens
