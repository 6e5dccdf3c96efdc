// Package policysuite runs injected and benign tasks under rule sets on a real server, and compares
// what happened outside.
package policysuite

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"gopkg.in/yaml.v3"
)

// task is what a scripted agent does for a prompt.
type task struct {
	// ID is made of the file's list and the place in it.
	ID string `yaml:"-"`
	// About is the domain, and of an attack also channel, goal and evasion.
	About  []string `yaml:"about"`
	Prompt string   `yaml:"prompt"`
	// Calls are made one per turn. A tool that begins with ! is the attack.
	Calls []map[string]map[string]any `yaml:"calls"`
	// Then is the prompt of the next run of the conversation, which makes the calls Later.
	Then  string                      `yaml:"then"`
	Later []map[string]map[string]any `yaml:"later"`
	// Fooled says that the person who is asked about the attack believes it.
	Fooled bool `yaml:"fooled"`
}

func (t task) domain() string { return t.About[0] }

// isAttack reports whether the task is injected.
func (t task) isAttack() bool { return len(t.About) > 1 }

// load reads the attacks or the benign tasks of a file.
func load(path, list string) ([]task, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file map[string][]task
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	tasks := file[list]
	for i := range tasks {
		tasks[i].ID = fmt.Sprintf("%s-%d", list, i+1)
	}
	return tasks, nil
}

// call is one call of a task.
type call struct {
	tool   string
	args   map[string]any
	attack bool
}

// parseCalls returns the calls of a list.
func parseCalls(list []map[string]map[string]any) (calls []call) {
	for _, entry := range list {
		for _, name := range slices.Sorted(maps.Keys(entry)) {
			tool, attack := strings.CutPrefix(name, "!")
			calls = append(calls, call{tool, entry[name], attack})
		}
	}
	return calls
}

// agent returns an agent that makes the calls, whatever their results are.
func agent(calls []call, tools []string) (*api.Agent, error) {
	var script api.Script
	for _, c := range calls {
		arguments, err := jsonvalue.Encode(c.args)
		if err != nil {
			return nil, err
		}
		script.Steps = append(script.Steps, api.ScriptStep{Calls: []api.ScriptCall{{Tool: c.tool,
			Arguments: arguments}}})
	}
	script.Steps = append(script.Steps, api.ScriptStep{Answer: "done"})
	packed := api.Pack(script)
	return &api.Agent{Name: "assistant", Tools: tools,
		Model: api.Model{Provider: api.ProviderScripted, Script: &packed}}, nil
}
