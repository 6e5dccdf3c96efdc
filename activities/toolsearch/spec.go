package toolsearch

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/bm25"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/toolspecs"
)

const (
	// usualFound and maxFound are the default and the maximum number of tools of one search.
	usualFound = 5
	maxFound   = 20
	// maxOffered bounds the tools that a model is offered after its searches. The newest count.
	maxOffered = 64
	// maxDescription bounds the description of a found tool, in bytes. The model gets the whole one
	// with its next step.
	maxDescription = 300
)

// Spec returns the toolspec of api.FindTools.
var Spec = sync.OnceValues(func() (*toolspecs.Compiled, error) {
	return toolspecs.Spec{Name: api.FindTools, Version: "1.0.0",
		Description: "Searches the tools of this agent. You have many more tools than you see. " +
			"Describe what you want to do; the tools that are found can be called from your next " +
			"turn on. Search again with other words if none fits.",
		Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: api.FindTools}},
		InputSchema: json.RawMessage(`{"type":"object","required":["query"],"properties":{` +
			`"query":{"type":"string","description":"what the tool should do, in English, such ` +
			`as: create an invoice"},"limit":{"type":"integer","minimum":1,"maximum":20,` +
			`"description":"how many tools to return; default 5"}}}`),
		Execution: toolspecs.ExecutionSpec{Effect: api.EffectRead}}.Compile()
})

// Is reports whether a tool is api.FindTools as runs are pinned to it.
func Is(tool api.Tool) bool {
	if tool.Name != api.FindTools {
		return false
	}
	spec, err := Spec()
	return err == nil && tool.Digest == spec.Digest
}

// In reports whether the model of a run with that catalog searches for tools.
func In(catalog api.Catalog) bool { return slices.ContainsFunc(catalog.Tools, Is) }

// SelectOffers returns the tools that a model which searches is offered: api.FindTools, those that
// its
// searches found and that it called, and the required one, if any. It depends on the offers of the
// pinned catalog and on the conversation only.
func SelectOffers(offers []models.Offer, messages []api.Message, required string) []models.Offer {
	shown := map[string]bool{api.FindTools: true, required: true}
	found := foundIn(messages)
	for _, name := range found[max(0, len(found)-maxOffered):] {
		shown[name] = true
	}
	return slices.DeleteFunc(slices.Clone(offers), func(o models.Offer) bool {
		return !shown[o.Name]
	})
}

// foundIn returns the names of the tools that the conversation's searches found and that it called,
// each once, in the order of their last mention.
func foundIn(messages []api.Message) []string {
	var names []string
	note := func(name string) {
		names = append(slices.DeleteFunc(names, func(n string) bool { return n == name }), name)
	}
	searches := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.Calls {
			searches[c.ID] = c.Tool == api.FindTools
			if !searches[c.ID] {
				note(c.Tool)
			}
		}
		if m.Role != api.RoleTool || m.Failed || !searches[m.CallID] {
			continue
		}
		var r Result
		if json.NewDecoder(strings.NewReader(m.Text)).Decode(&r) != nil {
			continue // it was cut
		}
		for _, t := range slices.Backward(r.Tools) { // the best one comes last
			note(t.Name)
		}
	}
	return names
}

// Result is the result of api.FindTools.
type Result struct {
	// Tools are the found tools, best first; Searched is the number of tools that were searched.
	Tools    []Found `json:"tools"`
	Searched int     `json:"searched"`
}

// Found is a tool that a search found.
type Found struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Search searches offers, which index indexes. args are the arguments of api.FindTools.
func Search(index *bm25.Index, offers []models.Offer, args json.RawMessage) (Result, error) {
	in := struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}{Limit: usualFound}
	r := Result{Tools: []Found{}}
	if err := json.Unmarshal(args, &in); err != nil {
		return r, err
	}
	limit := min(max(in.Limit, 1), maxFound)
	for _, offer := range offers {
		if offer.Name != api.FindTools {
			r.Searched++
		}
	}
	for _, i := range index.Search(in.Query, limit+1) { // api.FindTools may be among them
		if offers[i].Name != api.FindTools && len(r.Tools) < limit {
			r.Tools = append(r.Tools, Found{Name: offers[i].Name, Description: display.Cut(
				offers[i].Description, maxDescription, "you get it in full next")})
		}
	}
	return r, nil
}
