package agents

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// hooksFile is the hooks of an agent file. Which hooks there are only the workers know: they are Go
// functions.
type hooksFile struct {
	BeforeRun      []hookFile `yaml:"before_run" rule:"short=name"`
	MemoryRetrieve []hookFile `yaml:"memory_retrieve" rule:"short=name"`
	BeforeCall     []hookFile `yaml:"before_call" rule:"short=name"`
	AfterCall      []hookFile `yaml:"after_call" rule:"short=name"`
	MemoryWrite    []hookFile `yaml:"memory_write" rule:"short=name"`
	AfterRun       []hookFile `yaml:"after_run" rule:"short=name"`
}

// hookFile is one hook; its name alone is short for a mapping with nothing but the name.
type hookFile struct {
	Name    string          `yaml:"name" rule:"required"`
	OnError api.HookFailure `yaml:"on_error" rule:"enum=block|ignore"`
	Tools   []string        `yaml:"tools" rule:"min=1"`
	Timeout api.Duration    `yaml:"timeout" rule:"above=0s,max=1h"`
}

// hooks returns the hooks as declared.
func (f hooksFile) hooks() api.Hooks {
	return api.Hooks{BeforeRun: toHooks(f.BeforeRun), MemoryRetrieve: toHooks(f.MemoryRetrieve),
		BeforeCall: toHooks(f.BeforeCall),
		AfterCall:  toHooks(f.AfterCall), MemoryWrite: toHooks(f.MemoryWrite),
		AfterRun: toHooks(f.AfterRun)}
}

func toHooks(list []hookFile) []api.Hook {
	var hooks []api.Hook
	for _, h := range list {
		hooks = append(hooks, api.Hook(h))
	}
	return hooks
}

// checkHooks reports hooks that have no possible name, that are in a list twice, or that are for
// tools which the agent has not.
func checkHooks(doc *strictyaml.Document, hooks api.Hooks, tools []string) {
	for _, p := range hookrules.Points(hooks) {
		for i, h := range p.Hooks {
			at := jsonpath.Index("$.hooks."+string(p.Point), i)
			if h.Name != "" {
				if err := api.CheckToolName(h.Name); err != nil {
					doc.Report(at+".name", err.Error(), "")
				}
			}
			if slices.ContainsFunc(p.Hooks[:i],
				func(other api.Hook) bool { return other.Name == h.Name }) {
				doc.Report(at+".name", "the hook is in the list already",
					"remove it; one hook may name several tools")
			}
			checkHookTools(doc, at+".tools", p.Point, h.Tools, tools)
		}
	}
}

func checkHookTools(doc *strictyaml.Document, at string, point api.HookPoint, names,
	tools []string) {
	if point != api.HookBeforeCall && point != api.HookAfterCall {
		if len(names) > 0 {
			doc.ReportKey(at, "a hook of the whole run has no tools",
				"tools: is for before_call and after_call")
		}
		return
	}
	for i, name := range names {
		if tools != nil && !slices.Contains(tools, name) {
			doc.Report(jsonpath.Index(at, i), "the agent has no tool "+jsontext.Shorten(name),
				spelling.Hint(name, tools))
		}
	}
}
