package toolspecs

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// instanceFact is something that all tools of an instance declare equally.
type instanceFact struct{ path, value string }

// instanceKind returns the kind of a tool whose calls run on instances; nil for other tools.
func (s Spec) instanceKind() instanced {
	k, ok := s.Entry.Kind.(instanced)
	if !ok || s.Entry.Kind.dispatch() != api.DispatchInstance {
		return nil
	}
	return k
}

// instanceFacts returns the facts of the instance that serves the tool; nil for other tools.
func (s Spec) instanceFacts() []instanceFact {
	if s.instanceKind() == nil {
		return nil
	}
	e := s.Entry.Common()
	return []instanceFact{
		{"$.entry.type", s.Entry.Type()},
		{"$.entry.handler", e.Handler},
		{"$.entry.secrets", fmt.Sprint(e.Secrets)},
		{"$.entry.on_loss", string(e.Instance.OnLoss)},
		{"$.entry.idle_timeout", e.Instance.IdleTimeout.String()},
		{"$.entry.scope", string(cmp.Or(e.Instance.Scope, api.ScopeRun))},
		{"$.execution.lane", s.Execution.Lane},
	}
}

// InstanceName returns the name of the instance that serves the tool: the shared one, or else the
// tool's own, which has its name. It is empty for tools without instances.
func (s Spec) InstanceName() string {
	k := s.instanceKind()
	if k == nil {
		return ""
	}
	return cmp.Or(k.instance(), s.Name)
}

// CheckInstances returns the faults of tools that share an instance and declare it differently.
func CheckInstances(specs []Spec) (faults Faults) {
	first := map[string]Spec{}
	for _, s := range specs {
		name := s.InstanceName()
		if name == "" {
			continue
		}
		other, known := first[name]
		if !known {
			first[name] = s
			continue
		}
		theirs := other.instanceFacts()
		for i, fact := range s.instanceFacts() {
			if fact.value != theirs[i].value {
				faults = append(faults, s.contradicts(other, fact, theirs[i].value))
			}
		}
	}
	return faults
}

// contradicts returns the fault of a tool that declares a fact of its instance otherwise than
// another tool does.
func (s Spec) contradicts(other Spec, fact instanceFact, theirs string) Fault {
	field := fact.path[strings.LastIndex(fact.path, ".")+1:]
	message := fmt.Sprintf("%s is %s, but it is %s for %s%s, which shares the instance %s", field,
		fact.value, theirs, other.Name, other.describePlace(fact.path), s.InstanceName())
	if field == "secrets" {
		message = fmt.Sprintf("secrets differ from those of %s%s, which shares the instance %s",
			other.Name, other.describePlace(fact.path), s.InstanceName())
	}
	return s.toFault(strictyaml.Finding{Path: fact.path, Message: message,
		Hint: "declare the same for all tools of an instance, or name another instance"})
}

// describePlace returns where a part of the spec is written; empty if it comes from no file.
func (s Spec) describePlace(path string) string {
	if at, ok := s.places[path]; ok {
		return fmt.Sprintf(" at %s:%d:%d", at.file, at.line, at.column)
	}
	return ""
}
