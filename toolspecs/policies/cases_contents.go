package policies

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// earlierFile is an earlier call of a case.
type earlierFile struct {
	ID     string          `yaml:"id"`
	Tool   string          `yaml:"tool" rule:"required"`
	Args   json.RawMessage `yaml:"args"`
	Result json.RawMessage `yaml:"result"`
	Status api.CallStatus  `yaml:"status" rule:"enum=completed|failed|refused|running"`
	Labels []string        `yaml:"labels"`
	Turn   int             `yaml:"turn" rule:"min=0"`
}

// call returns the nth earlier call, which completed unless it says otherwise.
func (f earlierFile) call(n int) *api.EarlierCall {
	c := &api.EarlierCall{ID: f.ID, Tool: f.Tool, Arguments: string(f.Args), Result: f.Result,
		Status: f.Status, Labels: f.Labels, Turn: f.Turn, Time: noon}
	if c.ID == "" {
		c.ID = api.TurnCallID(max(f.Turn, 1), n+1)
	}
	if c.Status == "" {
		c.Status = api.CallCompleted
	}
	return c
}

// contents sets the earlier calls of a case and what people wrote. Earlier calls of tools that
// calls does not name are counted.
func (f caseFile) contents(facts *Facts) {
	for n, e := range f.Earlier {
		facts.Earlier = append(facts.Earlier, e.call(n))
	}
	inOrder(facts.Earlier, f.Labels)
	for _, c := range facts.Earlier {
		if _, known := f.Calls[c.Tool]; !known {
			facts.Calls = countCall(facts.Calls, c)
		}
	}
	f.values(&facts.Run)
	say := func(kind api.SourceKind, text string) {
		facts.Statements = append(facts.Statements, &api.Statement{Kind: kind, Text: text})
	}
	say(api.SourceInstructions, f.Run.Instructions)
	say(api.SourcePrompt, f.Run.Prompt)
	for _, text := range f.Run.Messages {
		say(api.SourceMessage, text)
	}
}

// inOrder has each call made after the one before it had ended. The run then had the labels of the
// results before, and those of the case that no result has.
func inOrder(calls []*api.EarlierCall, labels []string) {
	var known []string
	for _, label := range labels {
		if !slices.ContainsFunc(calls, func(c *api.EarlierCall) bool {
			return slices.Contains(c.Labels, label)
		}) {
			known = append(known, label)
		}
	}
	for i, c := range calls {
		c.After, c.Place, c.RunLabels = i, i+1, slices.Clone(known)
		for _, label := range c.Labels {
			if !slices.Contains(known, label) {
				known = append(known, label)
			}
		}
	}
}

// values sets the values of variables, and their names, as either is given.
func (f caseFile) values(run *Run) {
	run.Values, _ = jsonValue(f.Run.Values).(map[string]any)
	if run.Values == nil {
		run.Values = map[string]any{}
	}
	for name := range run.Values {
		if !slices.Contains(run.Variables, name) {
			run.Variables = append(run.Variables, name)
		}
	}
}

// countCall adds a call to the counts by tool.
func countCall(counts []api.PastCalls, c *api.EarlierCall) []api.PastCalls {
	i := 0
	for i < len(counts) && counts[i].Tool != c.Tool {
		i++
	}
	if i == len(counts) {
		counts = append(counts, api.PastCalls{Tool: c.Tool})
	}
	switch c.Status {
	case api.CallFailed:
		counts[i].Failed++
	case api.CallRefused:
		counts[i].Refused++
	case api.CallRunning:
		counts[i].Running++
	default:
		counts[i].Completed++
	}
	return counts
}

// reportContents reports what is no mapping.
func (f caseFile) reportContents(doc *strictyaml.Document, at string) {
	reportUnlessMapping(doc, at+".run.values", "values of variables", f.Run.Values)
	for i, e := range f.Earlier {
		reportUnlessMapping(doc, jsonpath.Index(at+".earlier", i)+".args",
			fmt.Sprintf("arguments of the earlier call of %s", e.Tool), e.Args)
	}
}
