package plans

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/planrules"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

type scriptFile struct {
	Steps   []stepFile `yaml:"steps" rule:"required,min=1"`
	Summary string     `yaml:"summary"`
	Window  int        `yaml:"window" rule:"min=1"`
}

type stepFile struct {
	Text   string           `yaml:"text"`
	Calls  []scriptCallFile `yaml:"calls" rule:"min=1"`
	Answer string           `yaml:"answer"`
	Delay  api.Duration     `yaml:"delay" rule:"max=1m"`
}

type scriptCallFile struct {
	ID            string          `yaml:"id"`
	Tool          string          `yaml:"tool" rule:"required"`
	Arguments     json.RawMessage `yaml:"arguments"`
	ArgumentsText string          `yaml:"arguments_text"`
	Repeat        int             `yaml:"repeat" rule:"min=1,max=10000"`
}

// DecodeScript reads a script for the scripted model, YAML or JSON. known has the tool names that
// calls may use; nil disables this check. complaint starts the message about an unknown tool;
// default "there is no tool". The error is strictyaml.Faults.
func DecodeScript(file string, data []byte, known []string, complaint string) (*api.Script, error) {
	doc, faults := strictyaml.ParseOne(file, data, maxPlanBytes)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var f scriptFile
	doc.Decode(&f)
	script := f.script()
	c := scriptChecker{doc: doc, known: known, complaint: cmp.Or(complaint, "there is no tool"),
		ids: map[string]bool{}}
	c.end(script.Steps)
	for i, step := range script.Steps {
		c.step(jsonpath.Index("$.steps", i), step, i == len(script.Steps)-1)
	}
	c.references("$.summary", script.Summary)
	if err := doc.Faults().Err(); err != nil {
		return nil, err
	}
	return script, nil
}

func (f scriptFile) script() *api.Script {
	s := &api.Script{Summary: f.Summary, Window: f.Window}
	for _, step := range f.Steps {
		to := api.ScriptStep{Text: step.Text, Answer: step.Answer, Delay: step.Delay}
		for _, c := range step.Calls {
			to.Calls = append(to.Calls, api.ScriptCall(c))
		}
		s.Steps = append(s.Steps, to)
	}
	return s
}

// scriptChecker checks the meaning of a script step by step; ids has the call IDs of earlier steps.
type scriptChecker struct {
	doc       *strictyaml.Document
	known     []string
	complaint string
	ids       map[string]bool
}

func (c *scriptChecker) step(path string, step api.ScriptStep, last bool) {
	calls, answers := len(step.Calls) > 0, step.Answer != ""
	switch {
	case calls && answers:
		c.doc.ReportKey(path+".answer", "a step has calls or an answer, not both",
			"put the answer into a step of its own")
	case !calls && !answers:
		c.doc.Report(path, "the step has neither calls nor an answer", "")
	case answers && step.Text != "":
		c.doc.ReportKey(path+".text", "text goes with calls", "put it into the answer")
	case last && calls:
		c.doc.Report(path, "the last step has no answer, so the run would not end",
			"add a step with answer: …")
	}
	c.contents(path, step)
}

// end reports steps that are never played because an answer before them ends the run.
func (c *scriptChecker) end(steps []api.ScriptStep) {
	i := slices.IndexFunc(steps, func(s api.ScriptStep) bool {
		return s.Answer != "" &&
			len(s.Calls) == 0
	})
	if i >= 0 && i+1 < len(steps) {
		c.doc.Report(jsonpath.Index("$.steps", i+1),
			fmt.Sprintf("the answer of step %d ends the run, so this step never runs", i+1),
			"put the answer last, or remove what follows it")
	}
}

// contents checks the text and calls of a step; ids apply to later steps.
func (c *scriptChecker) contents(path string, step api.ScriptStep) {
	c.references(path+".text", step.Text)
	c.references(path+".answer", step.Answer)
	for i, call := range step.Calls {
		c.call(jsonpath.Index(path+".calls", i), call)
	}
	for i, call := range step.Calls {
		c.id(jsonpath.Index(path+".calls", i)+".id", call.ID)
	}
}

func (c *scriptChecker) call(path string, call api.ScriptCall) {
	CheckToolName(c.doc, path+".tool", call.Tool, c.known, c.complaint)
	if call.Arguments == nil {
		return
	}
	if call.ArgumentsText != "" {
		c.doc.ReportKey(path+".arguments_text",
			"a call has either arguments or arguments_text, not both", "keep one of them")
	}
	arguments, err := jsonvalue.Decode(call.Arguments)
	if _, ok := arguments.(map[string]any); !ok || err != nil {
		c.doc.Report(path+".arguments", "the arguments must be a mapping",
			"arguments_text sends any text")
		return
	}
	c.references(path+".arguments", arguments)
}

// id takes note of a call's id, for the steps that follow.
func (c *scriptChecker) id(path, id string) {
	if id == "" {
		return
	}
	if err := api.CheckToolName(id); err != nil {
		c.doc.Report(path, err.Error(), "")
	}
	if c.ids[id] {
		c.doc.Report(path, fmt.Sprintf("another call also has the id %q", id), "")
	}
	c.ids[id] = true
}

func (c *scriptChecker) references(path string, value any) {
	known := func(id string) bool { return c.ids[id] }
	for _, p := range planrules.CheckReferences(value, path, "that no earlier step makes", known) {
		c.doc.Report(p.Path, p.Message, "")
	}
}
