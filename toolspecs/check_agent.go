package toolspecs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// agent checks an agent tool. What no activity executes cannot be tried again by one, wait for one, or have its
// dependencies checked in one; and what an agent is asked is shown as the prompt of its run.
func (c *checker) agent(s Spec) {
	a := s.Entry.Agent
	if a == nil {
		c.add("$.entry.agent", "write agent: and the path of an agent file", "an agent tool needs an agent")
	} else if err := api.CheckToolName(a.Name); err != nil {
		c.add("$.entry.agent", "", "the agent's %v", err)
	}
	c.placeholders("$.entry.prompt", s.Entry.Prompt, s.argumentNames(), false)
	if s.Execution.Retry.MaxAttempts > 1 {
		c.add("$.execution.retry.max_attempts", "remove it; its model steps and calls are tried again by their own policies",
			"a sub-agent's run goes on where it was, so it has one attempt, not %d", s.Execution.Retry.MaxAttempts)
	}
	if s.Execution.QueueTimeout > 0 {
		c.addKey("$.execution.queue_timeout", "write timeout, which bounds the whole of it", "a sub-agent's run waits in no queue")
	}
	if len(s.Requires.Dependencies) > 0 {
		c.addKey("$.requires.dependencies", "give them to the tools that the agent calls", "nothing would check the dependencies of an agent tool")
	}
	c.shownToAgent(s)
}

// shownToAgent refuses sensitive arguments.
func (c *checker) shownToAgent(s Spec) {
	const message, hint = "what an agent is asked cannot be kept secret: it is shown as its run's prompt", "give the secret to a tool of the agent"
	for i, p := range s.Parameters {
		if shapeOfParameter(p).hides() {
			c.add(jsonpath.Index("$.parameters", i)+".sensitive", hint, message)
		}
	}
	if tree, err := jsontext.ParseOrdered(s.InputSchema); err == nil && shapeOfSchema(tree, "").hides() {
		c.addKey("$.input_schema", hint, message)
	}
}

// CheckAgents returns which tools the agents of specs may call that there are not; known are the names of all tools. The
// error is Faults, each at its place in the agent's file where the agent came from one.
func CheckAgents(specs []Spec, known []string) error {
	var faults Faults
	for _, s := range specs {
		if s.Entry.Agent != nil {
			faults = append(faults, missingTools(s, known)...)
		}
	}
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	// Several tools may name one agent.
	return slices.Compact(faults).Err()
}

// toolsOf returns the tools that an agent's runs may need: those that it may call, and its checker.
func toolsOf(a *api.Agent) []string {
	if a.Checker == nil || slices.Contains(a.Tools, a.Checker.Tool) {
		return a.Tools
	}
	return append(a.Tools[:len(a.Tools):len(a.Tools)], a.Checker.Tool)
}

// checkChecker holds the checker against the tools there are.
func (f agentFile) checkChecker(doc *strictyaml.Document, known []string) {
	if f.Checker == nil {
		return
	}
	const path = "$.checker"
	checkToolName(doc, path+toolKey, f.Checker.Tool, known, "there is no tool")
	if len(f.Checker.Arguments) > 0 {
		if _, err := membersOf(f.Checker.Arguments); err != nil {
			doc.Report(path+argumentsKey, "the arguments must be an object", "write a mapping of the arguments of "+f.Checker.Tool)
			return
		}
	}
	api.Checker(*f.Checker).Problems(path+argumentsKey, func(at, fault string) { doc.Report(at, fault, "") })
}

func missingTools(s Spec, known []string) Faults {
	var faults Faults
	for _, name := range toolsOf(s.Entry.Agent) {
		if !slices.Contains(known, name) {
			faults = append(faults, Fault{File: fmt.Sprintf("toolspec %q", s.Name),
				Message: fmt.Sprintf("its agent %s names the tool %q, and there is none", s.Entry.Agent.Name, name), Hint: spelling.Hint(name, known)})
		}
	}
	if len(faults) == 0 || s.Entry.AgentFile == "" {
		return faults
	}
	if _, err := LoadAgent(s.Entry.AgentFile, known); err != nil {
		return asFaults(s.Name, err)
	}
	return faults
}

// checkModel holds the fields of a model against its provider and the agent's tools.
func (f agentFile) checkModel(doc *strictyaml.Document) {
	f.Model.checkProvider(doc)
	if m := f.Model; m.Provider == api.ProviderAnthropic && m.Temperature != nil && *m.Temperature > 1 {
		doc.Report("$.model.temperature", "models of the provider anthropic take a temperature from 0 to 1", "")
	}
	choice := f.Model.ToolChoice
	switch choice {
	case "", api.ChoiceAuto, api.ChoiceNone:
	case api.ChoiceRequired:
		if len(f.Tools) == 0 {
			doc.Report("$.model.tool_choice", "a call is required, and the agent has no tools", "give it tools, or remove tool_choice")
		}
	default:
		if !slices.Contains(f.Tools, choice) {
			known := append([]string{api.ChoiceAuto, api.ChoiceRequired, api.ChoiceNone}, f.Tools...)
			doc.Report("$.model.tool_choice", "must be auto, required, none, or the name of a tool of the agent; it is "+jsontext.Shorten(choice), spelling.Hint(choice, known))
		}
	}
}

func (m modelFile) checkProvider(doc *strictyaml.Document) {
	switch scripted := m.Provider == api.ProviderScripted; {
	case scripted && m.Script == "":
		doc.Report("$.model.provider", "a scripted model needs a script", "write script: and the path of a script file")
	case scripted && m.OfflineScript != "":
		doc.ReportKey("$.model.offline_script", "a scripted model is always offline", "keep script alone")
	case !scripted && m.Script != "":
		doc.ReportKey("$.model.script", "script is for the provider scripted", "for a worker without a key write offline_script")
	case !scripted && m.Name == "":
		doc.Report("$.model.provider", "the model has no name", "write name: and the model's name")
	}
}
