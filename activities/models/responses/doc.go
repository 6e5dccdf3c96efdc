// Package responses calls models by OpenAI responses, which are stateless here: the server keeps
// nothing, and a request has all items of the conversation, with the model's encrypted reasoning.
package responses
