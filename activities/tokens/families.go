package tokens

import (
	"slices"
	"strings"
)

// A vocabulary that is not embedded is estimated from the earlier one of OpenAI by a factor for
// each kind of piece.
const (
	kindWord = iota // words of Latin letters, and those of all other scripts
	kindSign        // signs, numbers and white space
	kindCyrillic
	kindArabic
	kindCJK // Chinese characters and kana
	kinds
)

// family is a group of models with one vocabulary.
type family struct {
	// names are parts of the names of its models, except are parts that exclude a model.
	names, except []string
	// factors are its tokens per token of the earlier vocabulary. They fit the texts in
	// bench/tokens/calibration.
	factors [kinds]float64
}

var families = []family{
	{[]string{"gpt-4", "gpt-3.5"}, []string{"gpt-4o", "gpt-4."},
		[kinds]float64{1, 1, 1, 1, 1}},
	{[]string{"claude"}, nil, [kinds]float64{1.07, 0.99, 1.11, 1.28, 0.95}},
	{[]string{"llama3", "llama-3"}, nil, [kinds]float64{1, 0.99, 0.68, 0.52, 0.66}},
	{[]string{"llama2", "llama-2", "codellama"}, nil,
		[kinds]float64{1.05, 1.46, 0.77, 1.27, 1.15}},
	{[]string{"mistral", "mixtral"}, []string{"nemo"},
		[kinds]float64{1.1, 1.46, 0.82, 1.26, 0.91}},
}

// CountFor returns how many tokens the model of that name sees in the text. The count is exact for
// OpenAI's models and otherwise an estimate for the families of models with a published vocabulary.
// Other models count as current ones of OpenAI.
func CountFor(model, text string) int {
	model = strings.ToLower(model)
	in := func(part string) bool { return strings.Contains(model, part) }
	i := slices.IndexFunc(families, func(f family) bool {
		return slices.ContainsFunc(f.names, in) && !slices.ContainsFunc(f.except, in)
	})
	if i < 0 {
		return Count(text)
	}
	return countSamples(text, families[i].estimate)
}

// estimate returns the tokens of a text.
func (f family) estimate(text string) float64 {
	n := 0.0
	for text != "" {
		size := nextPiece(text)
		n += f.factors[detectKind(text[:size])] * float64(pretokenizeEarlier.count(text[:size]))
		text = text[size:]
	}
	return n
}

// detectKind returns the kind of a piece by its first letter.
func detectKind(piece string) int {
	for i, r := range piece {
		class, _ := classAt(piece, i)
		switch {
		case class&classWord == 0:
		case r >= 0x400 && r < 0x530:
			return kindCyrillic
		case r >= 0x600 && r < 0x780:
			return kindArabic
		case r >= 0x3000 && r < 0xa000:
			return kindCJK
		default:
			return kindWord
		}
	}
	return kindSign
}
