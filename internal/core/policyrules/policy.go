// Package policyrules has what follows from policies and execution plans for calls and runs.
package policyrules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// DescribeActions returns the messages of the rules with some effects, one after the other; empty
// if there are none.
func DescribeActions(met []api.PolicyAction, effects ...api.PolicyEffect) string {
	var texts []string
	for _, p := range met {
		if !slices.Contains(effects, p.Effect) || p.AllowedBy != "" {
			continue
		}
		text := fmt.Sprintf("the policy %q %s: %s", p.Rule, cmp.Or(sayings[p.Effect],
			string(p.Effect)), p.Message)
		if p.Failure != "" {
			text = fmt.Sprintf(
				"the policy %q denies this call because it cannot be evaluated: %s (its message: %s)",
				p.Rule, p.Failure, p.Message)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

var sayings = map[api.PolicyEffect]string{api.PolicyDeny: "says", api.PolicyAsk: "asks for approval",
	api.PolicyWarn: "warns", api.PolicyAllow: "allows the call"}

// KeepContents reports whether one of the rules reads contents of the run: arguments and results of
// earlier calls, what people wrote, or values of variables.
func KeepContents(rules []api.PolicyRule) bool {
	return slices.ContainsFunc(rules, func(r api.PolicyRule) bool { return r.ReadsContents })
}
