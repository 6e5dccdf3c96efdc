package toolspecs

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs/agents"
)

// agentSpec returns an agent tool whose script contains text.
func agentSpec(name, answer string, tools ...string) Spec {
	script := api.Pack(api.Script{Steps: []api.ScriptStep{{Answer: answer}}})
	return Spec{Name: name, Version: "1.0.0", Description: "An agent.",
		Parameters: []Parameter{{Name: "task", Type: "string"}},
		Entry: Entry{Kind: AgentEntry{Agent: &api.Agent{Name: "one", Tools: tools,
			Model: api.Model{Provider: api.ProviderScripted, Script: &script}}}}}
}

// A pinned agent tool contains its agent, gets its own defaults and survives decoding. Every letter
// of the agent changes the digest, also in a script that is long enough to be compressed.
func TestAgentSpec_PinsTheWholeAgent(t *testing.T) {
	long := strings.Repeat("a long answer ", 2000)
	for _, answer := range []string{"<short> & sweet", long} {
		c, err := agentSpec("sub", answer, "read").Compile()
		if err != nil {
			t.Fatal(err)
		}
		tool := c.Tool()
		if tool.Dispatch != api.DispatchChildWorkflow || tool.Timeout != defaultChildTimeout ||
			tool.Retry.MaxAttempts != 1 || tool.Effect != api.EffectOnce {
			t.Errorf("facts: %+v", tool)
		}
		// The form that a run's history stores.
		data, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		var pinned api.Tool
		if err := json.Unmarshal(data, &pinned); err != nil {
			t.Fatal(err)
		}
		again, err := FromTool(pinned)
		if err != nil {
			t.Fatal(err)
		}
		if a := again.Spec.Entry.Common().Agent; a.Model.Script.Value.Steps[0].Answer != answer ||
			a.Tools[0] != "read" {
			t.Errorf("read back: %+v", a)
		}
		other, err := agentSpec("sub", answer+".", "read").Compile()
		if err != nil || other.Digest == c.Digest {
			t.Errorf("another script has the digest %s too, %v", c.Digest, err)
		}
		another, err := agentSpec("sub", answer, "write").Compile()
		if err != nil || another.Digest == c.Digest {
			t.Errorf("an agent with other tools has the digest %s too, %v", c.Digest, err)
		}
	}
	if _, err := (Spec{Name: "a", Version: "1.0.0", Description: "A.",
		Entry: Entry{Kind: AgentEntry{AgentFile: "a.yaml"}}}).Compile(); err == nil {
		t.Error("an agent tool without an agent compiles")
	}
	unnamed := agentSpec("a", "x")
	unnamed.Entry.Common().Agent.Name = "two words"
	if _, err := unnamed.Compile(); err == nil || err.Error() != `toolspec "a": $.entry.agent: the agent's name "two words" contains ' '; models accept only letters, digits, _ and - (github.search becomes github_search)` {
		t.Errorf("an agent with a bad name: %v", err)
	}
}

// Another version of Go may compress the same script to other bytes.
func TestAgentDigest_DoesNotDependOnCompression(t *testing.T) {
	c, err := agentSpec("sub", strings.Repeat("a long answer ", 2000)).Compile()
	if err != nil {
		t.Fatal(err)
	}
	tool := c.Tool()
	script, err := jsonvalue.Encode(c.Spec.Entry.Common().Agent.Model.Script.Value)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(tool.Spec), `{"gzip":`)
	end := at + strings.Index(string(tool.Spec)[at:], "}") + 1
	if at < 0 {
		t.Fatal("the script is not compressed")
	}
	tool.Spec = json.RawMessage(string(tool.Spec)[:at] + string(script) + string(tool.Spec)[end:])
	if _, err := FromTool(tool); err != nil {
		t.Error(err)
	}
}

// An unknown tool is reported once, at its place in the agent's file, or by the tool's name if the
// agent comes from no file.
func TestCheckAgents_ReportsUnknownToolsInTheAgentFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "agents", "lead.yaml")
	write(t, file, "name: lead\nmodel: {provider: openai, name: gpt}\ntools: [look, serch, lead]\n")
	tool := "version: 1.0.0\ndescription: Leads.\nentry: {type: agent, agent: ../agents/lead.yaml}\n"
	write(t, filepath.Join(dir, "tools", "a.yaml"), "name: lead\n"+tool+"---\nname: lead_too\n"+
		tool+"---\nname: look\n"+strings.Replace(tool, "agent, agent: ../agents/lead.yaml",
		"function", 1))
	specs, known := decodeFileOf(t, filepath.Join(dir, "tools", "a.yaml"))
	err := CheckAgents(specs, agents.Known{Names: known})
	if want := file + `:3:15: there is no tool "serch" (known: lead, lead_too, look)`; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	var faults Faults
	err = CheckAgents([]Spec{agentSpec("sub", "x", "look", "lok"), {Name: "look"}},
		agents.Known{Names: []string{"look", "sub"}})
	if !errors.As(err, &faults) ||
		err.Error() != `toolspec "sub": its agent one names the tool "lok", and there is none (did you mean "look"?)` {
		t.Errorf("got %v", err)
	}
	if err := CheckAgents([]Spec{agentSpec("sub", "x", "sub")},
		agents.Known{Names: []string{"sub"}}); err != nil {
		t.Errorf("an agent that calls itself: %v", err)
	}
}

// Every entry that selects no tool is reported at its place, with the nearest that would. Disabled
// tools are not selected.
func TestCheckAgents_ReportsEntriesThatSelectNoTool(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "lead.yaml")
	write(t, file, `name: lead
model: {provider: openai, name: gpt}
tools:
  - tag:payments
  - tag:paymnts
  - category:web
  - server:githb
  - server:github
  - instance:shell
  - git_hub*
  - github_*
  - zzz*
  - off_*
  - tag:off
`)
	write(t, filepath.Join(dir, "a.yaml"), "name: lead\nversion: 1.0.0\ndescription: Leads.\n"+
		"entry: {type: agent, agent: lead.yaml}\n")
	specs, _ := decodeFileOf(t, filepath.Join(dir, "a.yaml"))
	all := append([]Spec{{Name: "github_pay", Tags: []string{"payments"}, Category: "http",
		Entry: Entry{Kind: MCPEntry{Server: "github", Session: SessionShared}}},
		{Name: "browser", Entry: Entry{Kind: StatefulEntry{}}},
		{Name: "off_one", Tags: []string{"off"}, Status: api.StatusDisabled}}, specs...)
	err := CheckAgents(specs, Known(all))
	var got []string
	for _, f := range strictyaml.AsFaults(file, err) {
		got = append(got, strings.TrimPrefix(f.String(), file))
	}
	want := `:5:5: no tool has the tag "paymnts" (did you mean "payments"?)
:6:5: no tool has the category "web" (known: http)
:7:5: no tool belongs to the server "githb" (did you mean "github"?)
:9:5: no tool uses the instance "shell" (known: browser)
:10:5: no tool has a name like "git_hub*" (did you mean "github_*"?)
:12:5: no tool has a name like "zzz*"
:13:5: no tool has a name like "off_*"
:14:5: no tool has the tag "off" (known: payments)`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	named := agents.Known{Names: []string{"git_hub_pay", "github_pay", "zzz", "off_one"}}
	if err := CheckAgents(specs, named); err != nil {
		t.Errorf("tags are checked although only names are known: %v", err)
	}
}

// An agent has the hooks of its file, by point and in order. A name alone has all defaults: a hook
// before a step blocks if it fails, a hook after it does not.
func TestAgentHooks_KeepOrderAndDefaults(t *testing.T) {
	agent, err := agents.Load("testdata/agents/hooks_good.yaml", agents.Known{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range hookrules.Points(agent.Hooks) {
		for _, h := range p.Hooks {
			line := string(p.Point) + " " + h.Name + " " + hookrules.Timeout(h).String() + " " +
				strings.Join(h.Tools, ",")
			if hookrules.Blocks(h, p.Point) {
				line += " blocks"
			}
			got = append(got, line)
		}
	}
	want := []string{"before_run may_run 10s  blocks", "memory_retrieve recall 2s ",
		"before_call guard 10s read blocks", "before_call log 10s  blocks",
		"after_call redact 10s  blocks", "memory_write remember 10s ", "after_run report 10s "}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// decodeFileOf decodes a toolspec file and also returns the names of its tools.
func decodeFileOf(t *testing.T, file string) (specs []Spec, names []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		specs, err = Decode(file, data, Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specs {
		names = append(names, s.Name)
	}
	return specs, names
}
