// Package switchyard holds the words that every part of Switchyard shares: what a tool, a call, a result, a run, an
// event and a call record are, the closed set of errors, and every name that ends up in a workflow history.
//
// It imports nothing of ours and nothing outside the standard library, so that workflow code can rely on it without
// depending on anything whose upgrade could change a decision.
package api
