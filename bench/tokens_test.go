package main

import "testing"

// The embedded vocabularies of OpenAI are exact, other ones are estimated.
func TestTokenCounts_AreAccurateByFamily(t *testing.T) {
	lowest := map[string]float64{"o200k": 1, "cl100k": 0.98, "claude": 0.9, "llama3": 0.88,
		"llama2": 0.86, "mistral": 0.9}
	compared := 0
	if err := tokenAccuracies(func(family, text string, accuracy float64) {
		compared++
		if accuracy < lowest[family] {
			t.Errorf("%s, %s: accuracy %.3f, want at least %v", family, text, accuracy,
				lowest[family])
		}
	}); err != nil {
		t.Fatal(err)
	}
	if want := 8 * len(lowest); compared != want {
		t.Errorf("compared %d texts, want %d", compared, want)
	}
}
