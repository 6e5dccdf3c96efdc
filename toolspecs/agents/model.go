package agents

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/checkers"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/templates"
	"github.com/switchyard/switchyard/toolspecs/plans"
)

// checkChecker holds the checker against the tools there are.
func (f agentFile) checkChecker(doc *strictyaml.Document, known []string) {
	if f.Checker == nil {
		return
	}
	const path = "$.checker"
	plans.CheckToolName(doc, path+".tool", f.Checker.Tool, known, "there is no tool")
	if len(f.Checker.Arguments) > 0 {
		if _, err := templates.Values(f.Checker.Arguments); err != nil {
			doc.Report(path+".arguments", "the arguments must be an object",
				"write a mapping of the arguments of "+f.Checker.Tool)
			return
		}
	}
	checkers.Problems(api.Checker(*f.Checker), path+".arguments",
		func(at, fault string) { doc.Report(at, fault, "") })
}

// checkModel holds the fields of a model against its provider and the agent's tools.
func (f agentFile) checkModel(doc *strictyaml.Document) {
	f.Model.checkProvider(doc)
	if m := f.Model; m.Provider == api.ProviderAnthropic && m.Temperature != nil &&
		*m.Temperature > 1 {
		doc.Report("$.model.temperature",
			"models of the provider anthropic take a temperature from 0 to 1", "")
	}
	choice := f.Model.ToolChoice
	switch choice {
	case "", api.ChoiceAuto, api.ChoiceNone:
	case api.ChoiceRequired:
		if len(f.Tools) == 0 {
			doc.Report("$.model.tool_choice",
				"tool_choice requires a call, but the agent has no tools",
				"give it tools, or remove tool_choice")
		}
	default:
		tools := f.callable()
		if tools != nil && !slices.Contains(tools, choice) {
			known := append([]string{api.ChoiceAuto, api.ChoiceRequired, api.ChoiceNone},
				tools...)
			doc.Report("$.model.tool_choice",
				"must be auto, required, none, or the name of a tool of the agent; it is "+
					jsontext.Shorten(choice), spelling.Hint(choice, known))
		}
	}
}

func (m modelFile) checkProvider(doc *strictyaml.Document) {
	switch scripted := m.Provider == api.ProviderScripted; {
	case scripted && m.Script == "":
		doc.Report("$.model.provider", "a scripted model needs a script",
			"write script: and the path of a script file")
	case scripted && m.OfflineScript != "":
		doc.ReportKey("$.model.offline_script", "a scripted model is always offline",
			"keep script alone")
	case !scripted && m.Script != "":
		doc.ReportKey("$.model.script", "script is for the provider scripted",
			"for a worker without a key write offline_script")
	case !scripted && m.Name == "":
		doc.Report("$.model.provider", "the model has no name", "write name: and the model's name")
	}
}
