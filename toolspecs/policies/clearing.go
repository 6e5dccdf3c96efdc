package policies

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// Clearings returns the labels that an approval of a call clears, by the rules among met that ask.
// A label is cleared only if each rule of that name clears it: the rules that a run is pinned to,
// and the current ones.
func Clearings(met []api.PolicyAction, sets ...*Set) (all []api.Clearing) {
	for _, action := range met {
		if action.Effect != api.PolicyAsk || action.AllowedBy != "" {
			continue
		}
		for i, r := range findAskRules(action.Rule, sets) {
			if i == 0 {
				all = append(all, listClearings(r)...)
				continue
			}
			all = slices.DeleteFunc(all, func(c api.Clearing) bool {
				return c.Rule == r.Name && !slices.Contains(listClearings(r), c)
			})
		}
	}
	return slices.Compact(all)
}

// findAskRules returns the rules of a name that ask.
func findAskRules(name string, sets []*Set) (rules []api.PolicyRule) {
	for _, r := range slices.Concat(listRules(sets)...) {
		if r.Name == name && r.Then == api.PolicyAsk {
			rules = append(rules, r)
		}
	}
	return rules
}

func listClearings(r api.PolicyRule) []api.Clearing {
	list := slices.Clone(r.Clears)
	for i := range list {
		list[i].Rule = r.Name
	}
	return list
}

func (r rule) checkClears(found *strictyaml.Findings, at string) {
	if len(r.Clears) > 0 && r.Then != api.PolicyAsk {
		found.Add(at, "remove clears", "only a rule with then: ask clears labels: an approval does")
	}
	CheckClearings(found, at, r.Clears)
}

// CheckClearings reports faults of the clearings at a path of a file.
func CheckClearings(found *strictyaml.Findings, at string, list []api.Clearing) {
	checkCount(found, at, len(list))
	for i, one := range list {
		path := jsonpath.Index(at, i)
		switch {
		case one.Rule != "":
			found.Add(path+".rule", "remove it", "records have the rule")
		case one.To == one.Label && one.To != "":
			found.Add(path+".to", "remove it, or choose another label",
				"label %q becomes itself", one.Label)
		case slices.ContainsFunc(list[:i], func(c api.Clearing) bool {
			return c.Label == one.Label
		}):
			found.Add(path, "remove one", "%q is given twice", one.Label)
		}
	}
}
