// Package payloads stores what runs read and write: compressed, encrypted, and outside of the
// history if it is large. It is a setting of the connections of workers and starters, which must
// agree for all that share runs; workflows and activities are unaware of it. The user documentation
// is docs/payloads.md.
package payloads
