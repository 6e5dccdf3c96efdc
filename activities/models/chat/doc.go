// Package chat calls models by OpenAI chat completions, at any server that speaks them.
//
// Servers deviate from the protocol. Answers are read in every form that has one meaning. Requests
// begin as OpenAI wants them; what a server refuses by name is left out or replaced from then on,
// see quirks.
package chat
