package plans

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/planrules"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// maxPlanBytes bounds a plan or script file.
const maxPlanBytes = 16 << 20

// planFile is a plan as written; a file may also hold the list of calls alone.
type planFile struct {
	Name   string          `yaml:"name"`
	Mode   api.Mode        `yaml:"arguments" rule:"enum=strict|lenient"`
	Calls  []planCallFile  `yaml:"calls" rule:"required"`
	Output json.RawMessage `yaml:"output"`
	// Undo lists the ends of a run after which its calls are undone; default both.
	Undo api.UndoWhen `yaml:"undo" rule:"enum=on_failure|on_cancel|both|never"`
}

type planCallFile struct {
	ID        string          `yaml:"id"`
	Tool      string          `yaml:"tool" rule:"required"`
	Arguments json.RawMessage `yaml:"arguments"`
	DependsOn []string        `yaml:"depends_on"`
	Priority  api.Priority    `yaml:"priority" rule:"enum=urgent|high|normal|low"`
	Ask       string          `yaml:"ask"`
}

// Decode reads a plan file, YAML or JSON: a list of calls, or a mapping that holds one. A call
// without an id gets "call-N", N its place from 1. known are the names of the tools there are; nil
// leaves them unchecked. The error is Faults and holds every problem of planrules.Check at its
// place in the file.
func Decode(file string, data []byte, known []string) (*api.Plan, error) {
	doc, faults := strictyaml.ParseOne(file, data, maxPlanBytes)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var f planFile
	calls := "$.calls"
	if doc.IsList() {
		calls = jsonpath.Root
		doc.Decode(&f.Calls)
	} else {
		doc.Decode(&f)
	}
	if doc.Full() {
		return nil, doc.Faults().Err()
	}
	p := f.plan()
	checkPlan(doc, p, calls, known)
	if err := doc.Faults().Err(); err != nil {
		return nil, err
	}
	return &p, nil
}

// checkPlan reports the faults of a decoded plan; calls is the path of its calls in the file.
func checkPlan(doc *strictyaml.Document, p api.Plan, calls string, known []string) {
	for i, c := range p.Calls {
		if doc.Full() {
			return
		}
		CheckToolName(doc, jsonpath.Index(calls, i)+".tool", c.Tool, known, "there is no tool")
	}
	for _, problem := range planrules.Check(p) {
		path := strings.Replace(problem.Path, "$.calls", calls, 1)
		if problem.Rule == api.RuleCycle {
			// Reported at the key, so that a fault of the ID itself stays visible.
			doc.ReportKey(path, problem.Message, "")
			continue
		}
		doc.Report(path, problem.Message, "")
	}
}

// Load is Decode for a file.
func Load(path string, known []string) (*api.Plan, error) {
	data, err := strictyaml.ReadFile(path, maxPlanBytes)
	if err != nil {
		return nil, err
	}
	return Decode(path, data, known)
}

func (f planFile) plan() api.Plan {
	p := api.Plan{Name: f.Name, Mode: f.Mode, Output: f.Output, Undo: f.Undo}
	p.Calls = make([]api.PlanCall, 0, len(f.Calls))
	for i, c := range f.Calls {
		call := api.PlanCall(c)
		if call.ID == "" {
			call.ID = fmt.Sprintf("call-%d", i+1)
		}
		p.Calls = append(p.Calls, call)
	}
	return p
}
