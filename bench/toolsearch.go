package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/toolsearch"
)

// searchCase is a case of BFCL: what a user asks for, the tools of the case, and the calls of the
// ground truth. Noise is set if the ground truth does not fit its own tools.
type searchCase struct {
	ID    string `json:"id"`
	User  string `json:"user"`
	Noise bool   `json:"noise"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"tools"`
	Calls []struct {
		Tool string `json:"tool"`
	} `json:"valid_calls"`
}

// measureSearch searches the tools of all live cases of BFCL for the text of each user, and
// measures how often a tool that the ground truth calls is among the first five.
func measureSearch(context.Context, *lab) (map[string]float64, error) {
	data, err := os.ReadFile(filepath.Join(os.Getenv("SWITCHYARD_CASES"), "bfcl_single_turn.json"))
	if err != nil {
		return nil, fmt.Errorf("%w: set SWITCHYARD_CASES to the folder of the public test cases: %w",
			errMissingInput, err)
	}
	share, err := foundShare(data)
	return map[string]float64{"tool_search_recall": share}, err
}

func foundShare(data []byte) (float64, error) {
	var corpus struct {
		Cases []searchCase `json:"cases"`
	}
	if err := json.Unmarshal(data, &corpus); err != nil {
		return 0, err
	}
	corpus.Cases = slices.DeleteFunc(corpus.Cases, func(c searchCase) bool {
		return !strings.HasPrefix(c.ID, "live_")
	})
	offers := collectOffers(corpus.Cases)
	index := toolsearch.Index(offers)
	called, found := 0, 0
	for _, c := range corpus.Cases {
		if c.Noise {
			continue
		}
		args, err := json.Marshal(map[string]any{"query": c.User})
		if err != nil {
			return 0, err
		}
		r, err := toolsearch.Search(index, offers, args)
		if err != nil {
			return 0, err
		}
		tools := c.calledTools()
		called += len(tools)
		for _, t := range r.Tools {
			if slices.Contains(tools, t.Name) {
				found++
			}
		}
	}
	if called == 0 {
		return 0, errors.New("the corpus has no live cases")
	}
	return float64(found) / float64(called), nil
}

// calledTools returns the tools that the ground truth calls, each once.
func (c searchCase) calledTools() (tools []string) {
	for _, call := range c.Calls {
		if !slices.Contains(tools, call.Tool) {
			tools = append(tools, call.Tool)
		}
	}
	return tools
}

// collectOffers returns the tools of all cases, by their first declaration.
func collectOffers(cases []searchCase) (offers []models.Offer) {
	seen := map[string]bool{}
	for _, c := range cases {
		for _, t := range c.Tools {
			if !seen[t.Name] {
				seen[t.Name] = true
				offers = append(offers, models.Offer{Name: t.Name, Description: t.Description,
					Schema: t.Parameters})
			}
		}
	}
	return offers
}
