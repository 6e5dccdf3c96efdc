package models

import (
	"testing"

	"github.com/switchyard/switchyard/api"
)

// Our count replaces a missing one and accompanies an existing one, except with images, which it
// does not count.
func TestUsage_IsCountedIfTheProviderDoesNot(t *testing.T) {
	for name, test := range map[string]struct {
		usage     api.Usage
		images    map[string][]Image
		in        int
		estimated bool
	}{
		"none":        {api.Usage{}, nil, 2, false},
		"provider's":  {api.Usage{InputTokens: 50}, nil, 50, true},
		"with images": {api.Usage{InputTokens: 50}, map[string][]Image{"1.1": {{}}}, 50, false},
	} {
		r := api.ModelResponse{Usage: test.usage, Message: api.Message{Text: "good day"}}
		FinalizeUsage(Prompt{Messages: []api.Message{{Text: "hello world"}}, Images: test.images},
			&r)
		if r.Usage.InputTokens != test.in || (r.Estimated == 4) != test.estimated {
			t.Errorf("%s: %+v, estimated %d", name, r.Usage, r.Estimated)
		}
	}
}
