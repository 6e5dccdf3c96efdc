// Package payloads says how what runs read and write is stored: large payloads outside of history, payloads compressed, and
// payloads encrypted. Workflows and activities do not know of it: it is a setting of the connections of workers and
// starters, which must be the same for all that share runs. docs/payloads.md is its page for users.
package payloads
