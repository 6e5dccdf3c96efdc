package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"

	"github.com/switchyard/switchyard/activities/tokens"
)

// tokenTexts are real texts of several languages: articles 1 to 3 of the Universal Declaration of
// Human Rights, code and JSON. counts.json has their numbers of tokens by published vocabularies.
//
//go:embed tokens/counts.json tokens/texts
var tokenTexts embed.FS

// vocabularies are the families of models in counts.json, each with the name of a model.
var vocabularies = map[string]string{"o200k": "gpt-4o", "cl100k": "gpt-4", "claude": "claude-2.1",
	"llama2": "llama2:7b", "llama3": "Meta-Llama-3.1-8B-Instruct", "mistral": "mixtral-8x7b"}

// measureTokens compares our token counts with those of the vocabularies. The figure is the lowest
// accuracy: 100 % less the relative error.
func measureTokens(context.Context, *lab) (map[string]float64, error) {
	lowest, at := 1.0, "none"
	err := tokenAccuracies(func(family, text string, accuracy float64) {
		if accuracy <= lowest {
			lowest, at = accuracy, family+", "+text
		}
	})
	fmt.Fprintf(os.Stderr, "  lowest accuracy: %s\n", at)
	return map[string]float64{tokenAccuracy: 100 * lowest}, err
}

// tokenAccuracies calls report with the accuracy of our counts for each family and text.
func tokenAccuracies(report func(family, text string, accuracy float64)) error {
	data, err := tokenTexts.ReadFile("tokens/counts.json")
	if err != nil {
		return err
	}
	var counts struct{ Texts map[string]map[string]int }
	if err := json.Unmarshal(data, &counts); err != nil {
		return fmt.Errorf("read tokens/counts.json: %w", err)
	}
	for family, model := range vocabularies {
		if len(counts.Texts[family]) == 0 {
			return fmt.Errorf("tokens/counts.json has no counts of %s", family)
		}
		for name, want := range counts.Texts[family] {
			text, err := tokenTexts.ReadFile("tokens/texts/" + name + ".txt")
			if err != nil {
				return err
			}
			off := float64(tokens.CountFor(model, string(text))-want) / float64(want)
			report(family, name, 1-max(off, -off))
		}
	}
	return nil
}
