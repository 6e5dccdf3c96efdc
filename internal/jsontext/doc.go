// Package jsontext reads JSON strictly and writes it in canonical form. An Object keeps the order
// of its keys.
package jsontext
