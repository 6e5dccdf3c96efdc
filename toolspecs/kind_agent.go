package toolspecs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/toolfacts"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/templates"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs/agents"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// KindAgent is another agent, a sub-agent with a run of its own.
const KindAgent = "agent"

// AgentEntry is the entry of tools that run another agent.
type AgentEntry struct {
	// Agent is the agent that runs, which was read from AgentFile.
	Agent *api.Agent `json:"agent,omitempty" yaml:"-"`
	// AgentFile is the path of the agent file, relative to the toolspec and outside of the folder
	// of toolspecs.
	AgentFile string `json:"-" yaml:"agent"`
	// Prompt is the template of the agent's prompt; default the argument prompt or task if there is
	// one, else all arguments as JSON.
	Prompt string `json:"prompt,omitempty" yaml:"prompt"`
}

// Name implements Kind.
func (AgentEntry) Name() string { return KindAgent }

// Common implements Kind.
func (e AgentEntry) Common() Common { return Common{Agent: e.Agent} }

func (e AgentEntry) withDefaults(s *Spec) Kind {
	setChildDefaults(s)
	return e
}

func (AgentEntry) dispatch() api.Dispatch { return api.DispatchChildWorkflow }

// splitForDigest implements digestSplitter: a long script is digested uncompressed, because
// compression differs between versions of Go.
func (e AgentEntry) splitForDigest() (rest Kind, part any) {
	if e.Agent == nil || e.Agent.Model.Script == nil {
		return e, nil
	}
	agent := *e.Agent
	part = agent.Model.Script.Value
	agent.Model.Script, e.Agent = nil, &agent
	return e, part
}

// check implements Kind. No activity executes such a call, so retries, queue timeouts and
// dependencies, which need one, are rejected. Sensitive arguments are rejected because the run
// shows its prompt.
func (e AgentEntry) check(c *checker, s Spec) {
	a := e.Agent
	if a == nil {
		c.Add("$.entry.agent", "write agent: and the path of an agent file",
			"an agent tool needs an agent")
	} else if err := api.CheckToolName(a.Name); err != nil {
		c.Add("$.entry.agent", "", "the agent's %v", err)
	}
	c.placeholders("$.entry.prompt", e.Prompt, s.argumentNames(), false)
	c.childRun(s, "a sub-agent's run", "the tools that the agent calls",
		"its model steps and calls are tried again by their own policies")
	c.notShown(s, "arguments of an agent tool cannot be sensitive: they are shown as its run's prompt",
		"give the secret to a tool of the agent")
}

// notShown rejects sensitive arguments.
func (c *checker) notShown(s Spec, message, hint string) {
	for i, p := range s.Parameters {
		if shapeOfParameter(p).Hides() {
			c.Add(jsonpath.Index("$.parameters", i)+".sensitive", hint, "%s", message)
		}
	}
	if tree, err := jsontext.ParseOrdered(s.InputSchema); err == nil &&
		schemas.ShapeFromSchema(tree, "").Hides() {
		c.AddKey("$.input_schema", hint, "%s", message)
	}
}

// Facts returns the facts by which agents select the tool.
func (s Spec) Facts() toolfacts.Facts {
	return toolfacts.Facts{Name: s.Name, Category: s.Category, Server: s.Entry.Common().Server,
		Instance: s.InstanceName(), Tags: s.Tags}
}

// Known returns the tools as the agents' lists see them. Disabled ones can be named, not selected.
func Known(specs []Spec) agents.Known {
	known := agents.Known{Names: []string{}, Selectable: []toolfacts.Facts{}}
	for _, s := range specs {
		known.Names = append(known.Names, s.Name)
		if s.Status != api.StatusDisabled {
			known.Selectable = append(known.Selectable, s.Facts())
		}
	}
	return known
}

// CheckAgents returns faults for entries of the agents' lists that name or select no tool. The
// error is Faults, each at its place in the agent's file if the agent comes
// from a file.
func CheckAgents(specs []Spec, known agents.Known) error {
	var faults Faults
	for _, s := range specs {
		if e, ok := s.Entry.Kind.(AgentEntry); ok && e.Agent != nil {
			faults = append(faults, e.missingTools(s.Name, known)...)
		}
	}
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
	// Several tools may use the same agent.
	return slices.Compact(faults).Err()
}

// listTools returns the tools that an agent's runs may need: its allowed tools and its checker.
func listTools(a *api.Agent) []string {
	if a.Checker == nil || slices.Contains(a.Tools, a.Checker.Tool) {
		return a.Tools
	}
	return append(a.Tools[:len(a.Tools):len(a.Tools)], a.Checker.Tool)
}

// missingTools returns faults for entries of the agent's list that name no tool. tool is the name
// of the agent tool.
func (e AgentEntry) missingTools(tool string, known agents.Known) Faults {
	var faults Faults
	for _, name := range listTools(e.Agent) {
		if !known.Selects(name) {
			faults = append(faults, Fault{File: fmt.Sprintf("toolspec %q", tool),
				Message: fmt.Sprintf("its agent %s names the tool %q, and there is none",
					e.Agent.Name, name), Hint: known.Hint(name)})
		}
	}
	if len(faults) == 0 || e.AgentFile == "" {
		return faults
	}
	if _, err := agents.Load(e.AgentFile, known); err != nil {
		return strictyaml.AsFaults(fmt.Sprintf("toolspec %q", tool), err)
	}
	return faults
}

// fileEndings are the extensions of agent and plan files.
var fileEndings = []string{".yaml", ".yml", ".json"}

// readFiles implements fileReader: it reads the agent file that an entry names, relative to the
// toolspec's file. The returned faults are those of the agent file.
func (e AgentEntry) readFiles(doc *strictyaml.Document, file string, o Options) (Kind, Faults) {
	if e.AgentFile == "" {
		return e, nil
	}
	data, ok := o.beside(&e.AgentFile, doc, "$.entry.agent", "an agent", file)
	if !ok {
		return e, nil
	}
	var err error
	if e.Agent, err = agents.DecodeWith(e.AgentFile, data, agents.Known{}, o.read); err != nil {
		doc.Report("$.entry.agent", "the agent file has faults", "correct them there")
		return e, strictyaml.AsFaults(e.AgentFile, err)
	}
	return e, nil
}

// beside reads the file that an entry names at path, relative to the toolspec's file, and completes
// its name. It reports why it cannot; what says what the file holds.
func (o Options) beside(name *string, doc *strictyaml.Document, path, what, file string) ([]byte,
	bool) {
	// Faults quote the file, and no other file may be quoted.
	if ext := strings.ToLower(filepath.Ext(*name)); !slices.Contains(fileEndings, ext) {
		doc.Report(path, "the file of "+what+" ends in .yaml, .yml or .json",
			"name its file, relative to the toolspec's")
		return nil, false
	}
	*name = strictyaml.Beside(file, *name)
	data, err := o.read(*name, MaxFileBytes)
	if err != nil {
		doc.Report(path, err.Error(), "paths are relative to the toolspec's file")
	}
	return data, err == nil
}

// promptNames are the arguments used as a sub-agent's prompt if the tool has no template.
var promptNames = []string{"prompt", "task"}

// AgentPrompt returns the prompt of a call of an agent tool: the filled template, or by default the
// argument prompt or task, or all arguments as JSON. args are validated arguments. If the tool
// declares its output, the prompt ends with the schema of the answer. An error is a
// validation_error.
func (c *Compiled) AgentPrompt(args json.RawMessage) (string, error) {
	values, err := templates.Values(args)
	if err != nil {
		return "", err
	}
	entry := c.Spec.Entry.Kind.(AgentEntry)
	prompt := c.ownPrompt(entry.Prompt, values, args)
	if strings.TrimSpace(prompt) == "" {
		return "", api.Errorf(api.ErrValidation, "the prompt of the agent %s is empty",
			entry.Agent.Name)
	}
	if c.outputJSON != nil {
		prompt += "\n\nAnswer with nothing but one JSON value that fits this JSON Schema:\n" +
			string(c.outputJSON)
	}
	return prompt, nil
}

func (c *Compiled) ownPrompt(template string, values map[string]any, args json.RawMessage) string {
	if template != "" {
		text, _ := templates.Text(template, values)
		return text
	}
	for _, name := range promptNames {
		if value, given := values[name]; given && slices.Contains(c.Spec.argumentNames(), name) {
			return jsonvalue.Text(value)
		}
	}
	return string(args)
}
