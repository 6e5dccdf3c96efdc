package tokens

import (
	"hash/maphash"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tiktoken-go/tokenizer"
)

// encoding is the vocabulary of the current OpenAI models, which is embedded in the program.
var encoding = sync.OnceValue(func() tokenizer.Codec {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		slog.Error("no tokenizer; token counts are estimated from lengths", "error", err)
	}
	return codec
})

// Texts of up to maxCounted bytes are counted exactly. Longer ones are estimated from evenly spread
// samples of sampleBytes each.
const (
	maxCounted  = 8 << 10
	sampleBytes = maxCounted / 8
)

// Count returns how many tokens a current OpenAI model sees in the text. Vocabularies of others
// differ by some percent in most texts.
func Count(text string) int {
	if len(text) <= maxCounted {
		return countExactly(text)
	}
	const samples = maxCounted / sampleBytes
	gap := (len(text) - sampleBytes) / (samples - 1)
	n := 0
	for i := range samples {
		n += countExactly(text[i*gap : i*gap+sampleBytes])
	}
	return int(float64(n) * float64(len(text)) / maxCounted)
}

func countExactly(text string) int {
	n := 0
	for text != "" {
		size := nextPiece(text)
		n += pieces.count(text[:size])
		text = text[size:]
	}
	return n
}

// pieceCache caches the token counts of pieces: most pieces are frequent words, and the tokenizer
// takes fifty times as long as a lookup. A slot holds the last piece that hashed to it, so the
// cache is bounded and needs no lock.
type pieceCache struct {
	seed  maphash.Seed
	slots [1 << 15]atomic.Pointer[countedPiece]
}

type countedPiece struct {
	text   string
	tokens int
}

// maxPiece bounds the cached pieces, in bytes.
const maxPiece = 48

var pieces = newPieceCache()

func newPieceCache() *pieceCache { return &pieceCache{seed: maphash.MakeSeed()} }

func (c *pieceCache) count(piece string) int {
	if len(piece) == 1 {
		return 1
	}
	if len(piece) > maxPiece {
		return encode(piece)
	}
	slot := &c.slots[maphash.String(c.seed, piece)%uint64(len(c.slots))]
	if known := slot.Load(); known != nil && known.text == piece {
		return known.tokens
	}
	n := encode(piece)
	slot.Store(&countedPiece{text: strings.Clone(piece), tokens: n})
	return n
}

// encode counts with the tokenizer.
func encode(text string) int {
	codec := encoding()
	if codec == nil {
		return roughTokens(text)
	}
	n, err := codec.Count(text)
	if err != nil {
		return roughTokens(text)
	}
	return n
}

// roughTokens estimates by length: about four bytes per token of English text or code.
func roughTokens(text string) int { return (len(text) + 3) / 4 }
