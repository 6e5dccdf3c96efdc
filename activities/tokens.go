package activities

import (
	"log/slog"
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// encoding is the vocabulary of the current OpenAI models, embedded in the program.
var encoding = sync.OnceValue(func() tokenizer.Codec {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		slog.Error("no tokenizer; token counts are estimated from lengths", "error", err)
	}
	return codec
})

// maxCounted is how much of a text is counted token by token; beyond, the rest counts in proportion.
const maxCounted = 8 << 10

// countTokens returns how many tokens a model sees in the text.
func countTokens(text string) int {
	if text == "" {
		return 0
	}
	counted := text[:min(len(text), maxCounted)]
	codec := encoding()
	if codec == nil {
		return roughTokens(text)
	}
	n, err := codec.Count(counted)
	if err != nil {
		return roughTokens(text)
	}
	return n * len(text) / len(counted)
}

// roughTokens estimates by length: four bytes are about one token of English text or code.
func roughTokens(text string) int { return (len(text) + 3) / 4 }
