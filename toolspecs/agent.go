package toolspecs

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// agentFile is an agent as written.
type agentFile struct {
	Name         string     `yaml:"name" rule:"required"`
	Description  string     `yaml:"description"`
	Instructions string     `yaml:"instructions"`
	Model        modelFile  `yaml:"model" rule:"required"`
	Tools        []string   `yaml:"tools"`
	Order        api.Order  `yaml:"order" rule:"enum=as_called|parallel_first"`
	Mode         api.Mode   `yaml:"arguments" rule:"enum=strict|lenient"`
	Limits       limitsFile `yaml:"limits"`
	// Undo says at which ends of a run its calls are undone; default both.
	Undo  api.UndoWhen `yaml:"undo" rule:"enum=on_failure|on_cancel|both|never"`
	Hooks hooksFile    `yaml:"hooks"`
	// Checker says which tool tells at a run's end whether it is solved.
	Checker *checkerFile `yaml:"checker"`
	// Policies are paths of files of rules, relative to the agent file.
	Policies []string `yaml:"policies" rule:"min=1" hint:"leave policies away for none"`
}

type checkerFile struct {
	Tool      string          `yaml:"tool" rule:"required"`
	Arguments json.RawMessage `yaml:"arguments"`
}

type modelFile struct {
	Provider api.Provider `yaml:"provider" rule:"required,enum=openai|anthropic|scripted"`
	Name     string       `yaml:"name"`
	// Script is what the scripted provider plays, OfflineScript what stands in where the worker has no key for another
	// provider. Both are paths, relative to the agent file.
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
	// OnReached and AskTimeout say what comes of a limit that is reached.
	OnReached  api.LimitAction `yaml:"on_reached" rule:"enum=wrap_up|stop|ask"`
	AskTimeout api.Duration    `yaml:"ask_timeout" rule:"min=1s,max=8760h"`
}

// DecodeAgent reads an agent file. file is its path: scripts that it names are read relative to it. known are the names
// of the tools there are; nil leaves them unchecked. The error is Faults.
func DecodeAgent(file string, data []byte, known []string) (*api.Agent, error) {
	return decodeAgent(file, data, known, strictyaml.ReadFile)
}

// reader is strictyaml.ReadFile, or one that notes what was read.
type reader func(path string, limit int) ([]byte, error)

func decodeAgent(file string, data []byte, known []string, read reader) (*api.Agent, error) {
	doc, faults := strictyaml.ParseOne(file, data, maxSpecBytes)
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
	f.checkChecker(doc, known)
	checkHooks(doc, f.Hooks.hooks(), f.Tools)
	script, scriptFaults := f.script(doc, file, read)
	rules, ruleFaults := f.rules(doc, file, read)
	if err := slices.Concat(doc.Faults(), scriptFaults, ruleFaults).Err(); err != nil {
		return nil, err
	}
	a := f.agent(script)
	a.Policies = rules
	return a, nil
}

// LoadAgent is DecodeAgent for a file.
func LoadAgent(path string, known []string) (*api.Agent, error) {
	return loadAgent(path, known, strictyaml.ReadFile)
}

func loadAgent(path string, known []string, read reader) (*api.Agent, error) {
	data, err := read(path, maxSpecBytes)
	if err != nil {
		return nil, err
	}
	return decodeAgent(path, data, known, read)
}

// otherFiles tell files that are no toolspecs by a key at their top.
var otherFiles = []struct{ key, what string }{{"$.model", "an agent"}, {"$.steps", "a script"}, {"$.calls", "a plan"},
	{"$.lanes", "a lanes file"}, {"$.buckets", "a lanes file"}, {"$.policies[0].when", "a file of policies"}}

// reportOther reports a file of another kind that lies among toolspecs.
func reportOther(doc *strictyaml.Document) bool {
	for _, other := range otherFiles {
		if doc.Has(other.key) && !doc.Has("$.entry") {
			doc.Report("$", "this is "+other.what+", not a toolspec", "keep such files outside of the folder of toolspecs, beside it")
			return true
		}
	}
	return false
}

// readAgent reads the agent file that an entry names, relative to the toolspec's file. The faults are the agent file's.
func (e *Entry) readAgent(doc *strictyaml.Document, file string, read reader) Faults {
	if e.AgentFile == "" || e.Type != api.KindAgent {
		return nil
	}
	e.AgentFile = beside(file, e.AgentFile)
	data, err := read(e.AgentFile, maxSpecBytes)
	if err != nil {
		doc.Report("$.entry.agent", err.Error(), "paths are relative to the toolspec's file")
		return nil
	}
	if e.Agent, err = decodeAgent(e.AgentFile, data, nil, read); err != nil {
		doc.Report("$.entry.agent", "the agent file has faults", "correct them there")
		return asFaults(e.AgentFile, err)
	}
	return nil
}

// beside returns the path of a file that another one names: relative to it, unless it is absolute.
func beside(file, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(file), name)
}

func (f agentFile) agent(script *api.Script) *api.Agent {
	m := f.Model
	a := &api.Agent{
		Name: f.Name, Description: f.Description, Instructions: f.Instructions,
		Model: api.Model{
			Provider: m.Provider, Name: m.Name, Temperature: m.Temperature, MaxTokens: m.MaxTokens,
			Timeout: m.Timeout, Lane: m.Lane, MaxAttempts: m.MaxAttempts, Price: api.Price(m.Price),
			ToolChoice: m.ToolChoice, ParallelCalls: m.ParallelCalls, Window: m.Window, CompactAt: m.CompactAt,
		},
		Tools: f.Tools, Order: f.Order, Mode: f.Mode, Limits: api.Limits(f.Limits), Undo: f.Undo,
		Hooks: f.Hooks.hooks(), Checker: (*api.Checker)(f.Checker),
	}
	if script != nil {
		packed := api.Pack(*script)
		a.Model.Script = &packed
	}
	return a
}

// script reads the script that the agent's model names, if any.
func (f agentFile) script(doc *strictyaml.Document, file string, read reader) (*api.Script, Faults) {
	path, at := f.Model.Script, "$.model.script"
	if f.Model.Provider != api.ProviderScripted {
		path, at = f.Model.OfflineScript, "$.model.offline_script"
	}
	if path == "" {
		return nil, nil
	}
	path = beside(file, path)
	data, err := read(path, maxPlanBytes)
	if err != nil {
		doc.Report(at, err.Error(), "paths are relative to the agent file")
		return nil, nil
	}
	return decodeScript(path, data, append([]string{}, f.Tools...), "the agent has no tool")
}

// checkToolNames reports names in a list that are repeated or that no tool has.
func checkToolNames(doc *strictyaml.Document, path string, names, known []string) {
	for i, name := range names {
		at := jsonpath.Index(path, i)
		if slices.Contains(names[:i], name) {
			doc.Report(at, "the tool is in the list already", "remove it")
		}
		checkToolName(doc, at, name, known, "there is no tool")
		if err := api.CheckToolName(name); err != nil {
			doc.Report(at, err.Error(), "")
		}
	}
}

func checkToolName(doc *strictyaml.Document, path, name string, known []string, complaint string) {
	if known != nil && name != "" && !slices.Contains(known, name) {
		doc.Report(path, complaint+" "+jsontext.Shorten(name), spelling.Hint(name, known))
	}
}
