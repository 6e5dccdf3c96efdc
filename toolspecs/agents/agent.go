package agents

import (
	"encoding/json"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/toolfacts"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs/plans"
)

// Bounds of an agent file and of a script file, in bytes.
const (
	maxBytes       = 1 << 20
	maxScriptBytes = 16 << 20
)

// agentFile is an agent as written.
type agentFile struct {
	Name         string    `yaml:"name" rule:"required"`
	Description  string    `yaml:"description"`
	Instructions string    `yaml:"instructions"`
	Model        modelFile `yaml:"model" rule:"required"`
	Tools        []string  `yaml:"tools"`
	// Search says whether the model gets find_tools instead of the tools.
	Search api.ToolSearch `yaml:"tool_search" rule:"enum=auto|always|never"`
	Order  api.Order      `yaml:"order" rule:"enum=as_called|parallel_first"`
	Mode   api.Mode       `yaml:"arguments" rule:"enum=strict|lenient"`
	Limits limitsFile     `yaml:"limits"`
	// Undo lists the ends of a run after which its calls are undone; default both.
	Undo  api.UndoWhen `yaml:"undo" rule:"enum=on_failure|on_cancel|both|never"`
	Hooks hooksFile    `yaml:"hooks"`
	// Checker names the tool that evaluates a finished run.
	Checker *checkerFile `yaml:"checker"`
	// Policies are paths of files of rules, relative to the agent file.
	Policies []string `yaml:"policies" rule:"min=1" hint:"omit policies for none"`
}

type checkerFile struct {
	Tool      string          `yaml:"tool" rule:"required"`
	Arguments json.RawMessage `yaml:"arguments"`
}

type modelFile struct {
	Provider api.Provider `yaml:"provider" rule:"required,enum=openai|anthropic|scripted"`
	Name     string       `yaml:"name"`
	// Script is the script of the scripted provider, OfflineScript the fallback if the worker lacks
	// credentials of another provider. Both are paths relative to the agent file.
	Script        string       `yaml:"script"`
	OfflineScript string       `yaml:"offline_script"`
	Temperature   *float64     `yaml:"temperature" rule:"min=0,max=2"`
	MaxTokens     int          `yaml:"max_tokens" rule:"min=1"`
	Timeout       api.Duration `yaml:"timeout" rule:"above=0s,max=24h"`
	Lane          string       `yaml:"lane"`
	MaxAttempts   int          `yaml:"max_attempts" rule:"min=1,max=1000"`
	Price         priceFile    `yaml:"price"`
	ToolChoice    string       `yaml:"tool_choice"`
	ParallelCalls *bool        `yaml:"parallel_calls"`
	Window        int          `yaml:"window" rule:"min=1"`
	CompactAt     float64      `yaml:"compact_at" rule:"min=0.1,max=1"`
}

type priceFile struct {
	Input       float64 `yaml:"input" rule:"min=0"`
	Output      float64 `yaml:"output" rule:"min=0"`
	CachedInput float64 `yaml:"cached_input" rule:"min=0"`
	CacheWrite  float64 `yaml:"cache_write" rule:"min=0"`
}

type limitsFile struct {
	Turns    int          `yaml:"turns" rule:"min=1"`
	Calls    int          `yaml:"calls" rule:"min=1"`
	Tokens   int          `yaml:"tokens" rule:"min=1"`
	Cost     float64      `yaml:"cost" rule:"above=0"`
	WallTime api.Duration `yaml:"wall_time" rule:"above=0s"`
	Repeats  int          `yaml:"repeats" rule:"min=2"`
	// OnReached and AskTimeout set what happens at a limit.
	OnReached  api.LimitAction `yaml:"on_reached" rule:"enum=wrap_up|stop|ask"`
	AskTimeout api.Duration    `yaml:"ask_timeout" rule:"min=1s,max=8760h"`
}

// Decode reads an agent file. file is its path: scripts that it names are read relative to it.
// The error is Faults.
func Decode(file string, data []byte, known Known) (*api.Agent, error) {
	return DecodeWith(file, data, known, strictyaml.ReadFile)
}

// Reader is strictyaml.ReadFile, or a variant that records what was read.
type Reader func(path string, limit int) ([]byte, error)

func DecodeWith(file string, data []byte, known Known, read Reader) (*api.Agent, error) {
	doc, faults := strictyaml.ParseOne(file, data, maxBytes)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var f agentFile
	doc.Decode(&f)
	if f.Name != "" {
		if err := api.CheckToolName(f.Name); err != nil {
			doc.Report("$.name", err.Error(), "")
		}
	}
	checkToolNames(doc, "$.tools", f.Tools, known)
	f.checkModel(doc)
	f.checkChecker(doc, known.Names)
	checkHooks(doc, f.Hooks.hooks(), f.callable())
	script, scriptFaults := f.script(doc, file, read)
	rules, ruleFaults := f.rules(doc, file, read)
	if err := slices.Concat(doc.Faults(), scriptFaults, ruleFaults).Err(); err != nil {
		return nil, err
	}
	a := f.agent(script)
	a.Policies = rules
	return a, nil
}

// Load is Decode for a file.
func Load(path string, known Known) (*api.Agent, error) {
	return loadAgent(path, known, strictyaml.ReadFile)
}

func loadAgent(path string, known Known, read Reader) (*api.Agent, error) {
	data, err := read(path, maxBytes)
	if err != nil {
		return nil, err
	}
	return DecodeWith(path, data, known, read)
}

func (f agentFile) agent(script *api.Script) *api.Agent {
	m := f.Model
	a := &api.Agent{
		Name: f.Name, Description: f.Description, Instructions: f.Instructions,
		Model: api.Model{
			Provider: m.Provider, Name: m.Name, Temperature: m.Temperature, MaxTokens: m.MaxTokens,
			Timeout: m.Timeout, Lane: m.Lane, MaxAttempts: m.MaxAttempts, Price: api.Price(m.Price),
			ToolChoice: m.ToolChoice, ParallelCalls: m.ParallelCalls, Window: m.Window,
			CompactAt: m.CompactAt,
		},
		Tools: f.Tools, Search: f.Search, Order: f.Order,
		Mode: f.Mode, Limits: api.Limits(f.Limits), Undo: f.Undo,
		Hooks: f.Hooks.hooks(), Checker: (*api.Checker)(f.Checker),
	}
	if script != nil {
		packed := api.Pack(*script)
		a.Model.Script = &packed
	}
	return a
}

// script reads the script that the agent's model names, if any.
func (f agentFile) script(doc *strictyaml.Document, file string, read Reader) (*api.Script,
	strictyaml.Faults) {
	path, at := f.Model.Script, "$.model.script"
	if f.Model.Provider != api.ProviderScripted {
		path, at = f.Model.OfflineScript, "$.model.offline_script"
	}
	if path == "" {
		return nil, nil
	}
	path = strictyaml.Beside(file, path)
	data, err := read(path, maxScriptBytes)
	if err != nil {
		doc.Report(at, err.Error(), "paths are relative to the agent file")
		return nil, nil
	}
	script, err := plans.DecodeScript(path, data, f.callable(), "the agent has no tool")
	if err != nil {
		return nil, strictyaml.AsFaults(path, err)
	}
	return script, nil
}

// callable returns the tools that the agent can call; nil if the file does not tell.
func (f agentFile) callable() []string {
	if slices.ContainsFunc(f.Tools, toolfacts.SelectsTools) {
		return nil
	}
	names := append([]string{}, f.Tools...)
	if f.Search == api.ToolSearchAlways || len(names) > api.SearchAbove {
		names = append(names, api.FindTools)
	}
	return names
}
