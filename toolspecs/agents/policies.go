package agents

import (
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// maxAgentRules bounds the rules of one agent, in bytes, because the input of every sub-agent's run
// contains the rules of all agents above it.
const maxAgentRules = 128 << 10

// reportShared reports the sections of a file that are for all runs.
func reportShared(doc *strictyaml.Document, at string, set *policies.Set) {
	if set.HasLabels() {
		doc.Report(at, "it has a table of labels, which files of an agent cannot have",
			"move the section labels to the file of the workers: --policies-file")
	}
	if len(set.Budgets()) > 0 {
		doc.Report(at, "it has budgets, which files of an agent cannot have",
			"move them to the file of the workers, or give the agent limits")
	}
}

// rules reads the files of rules that the agent names. The faults are those files'.
func (f agentFile) rules(doc *strictyaml.Document, file string, read Reader) ([]api.PolicyRule,
	strictyaml.Faults) {
	var rules []api.PolicyRule
	var faults strictyaml.Faults
	for i, name := range f.Policies {
		at := jsonpath.Index("$.policies", i)
		path := strictyaml.Beside(file, name)
		data, err := read(path, policies.MaxFileBytes)
		if err != nil {
			doc.Report(at, err.Error(), "paths are relative to the agent file")
			continue
		}
		set, err := policies.Decode(path, data)
		if err != nil {
			doc.Report(at, "the file of policies has faults", "correct them there")
			faults = append(faults, strictyaml.AsFaults(path, err)...)
			continue
		}
		reportShared(doc, at, set)
		for _, r := range set.Rules() {
			reportRelaxing(doc, at, r)
			if slices.ContainsFunc(rules,
				func(other api.PolicyRule) bool { return other.Name == r.Name }) {
				doc.Report(at, fmt.Sprintf("it has the rule %q, which an earlier file has too",
					r.Name), "give one of them another name")
			}
			rules = append(rules, r)
		}
	}
	data, err := jsonvalue.Encode(rules)
	if err != nil {
		doc.Report("$.policies", err.Error(), "")
	}
	if size := len(data); size > maxAgentRules {
		doc.Report("$.policies",
			fmt.Sprintf("the rules have %d bytes in all; an agent's may have %d", size,
				maxAgentRules), "move rules for all agents to the workers: --policies-file")
	}
	return rules, faults
}

// reportRelaxing reports a rule that relaxes others, which rules of an agent cannot do.
func reportRelaxing(doc *strictyaml.Document, at string, r api.PolicyRule) {
	if r.Then == api.PolicyAllow {
		doc.Report(at, fmt.Sprintf("its rule %q allows calls; the rules of an agent cannot "+
			"relax those of the workers and of toolspecs", r.Name), "move the rule to the "+
			"workers (--policies-file), or make an exception with unless")
	}
	if len(r.Clears) > 0 {
		doc.Report(at, fmt.Sprintf("its rule %q clears labels, which rules of an agent "+
			"cannot do", r.Name), "move the rule to the workers: --policies-file")
	}
}
