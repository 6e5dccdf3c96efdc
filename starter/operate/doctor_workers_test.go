package operate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/starter/cli"
)

// It reports faults in folders and policy files, differences, workers without an answer, and the
// rules in force.
func TestDoctor_ComparesWorkers(t *testing.T) {
	rules := func(n int, fault string) *workerreport.Policies {
		return &workerreport.Policies{File: "rules.yaml", Rules: n, Error: fault,
			Digest: fmt.Sprint("digest", n)}
	}
	for _, c := range []struct {
		name    string
		workers []workerreport.Catalog
		want    []string
	}{
		{"nobody", nil, nil},
		{"no rules", []workerreport.Catalog{{Worker: "a", Digest: "1"}},
			[]string{"ok: no policies are in force"}},
		{"rules", []workerreport.Catalog{{Worker: "a", Policies: rules(2, "")},
			{Worker: "b", Policies: rules(2, "")}},
			[]string{"ok: policies in force: 2 rules of rules.yaml"}},
		{"a faulty file", []workerreport.Catalog{{Worker: "a",
			Policies: rules(1, "rules.yaml:1:1: no")}},
			[]string{"problem: the worker a keeps its earlier policies because its file rules.yaml has faults:\n    rules.yaml:1:1: no",
				"ok: policies in force: 1 rule of"}},
		{"a faulty folder", []workerreport.Catalog{{Worker: "a", Error: "x.yaml:1:1: no"}},
			[]string{"problem: the worker a keeps its earlier tools because its folder has faults:\n    x.yaml:1:1: no",
				"ok: no policies"}},
		{"differences", []workerreport.Catalog{{Worker: "a", Digest: "1"}, {Worker: "b", Digest: "2",
			Policies: rules(1, "")}, {Worker: "c", Failure: "gone"}},
			[]string{"warning: the worker c does not answer: gone",
				"warning: workers have different tools",
				"problem: workers have different policies, and a run is pinned to those of the " +
					"worker that starts it:\n    a: none\n    b: 1 rule of rules.yaml, digest digest1"}},
		{"a rollout", []workerreport.Catalog{{Worker: "a", Policies: rules(1, "")},
			{Worker: "b", Policies: rules(2, "")}},
			[]string{"warning: workers have different policies"}},
	} {
		d := &doctor{app: &cli.App{}}
		var got []string
		for _, f := range d.evaluateHosted(c.workers) {
			got = append(got, fmt.Sprintf("%s: %s", f.Mark, f.Text))
		}
		ok := len(got) == len(c.want)
		for i := range got {
			ok = ok && strings.HasPrefix(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"),
				strings.Join(c.want, "\n"))
		}
	}
}
