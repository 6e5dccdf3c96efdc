package policies

import (
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/core/ledgerrules"
)

const budgeted = `budgets:
  - {name: daily, period: day, tokens: 1000, cost: 2.5}
  - {name: interns, period: hour, cost: 0.5, principals: [ada, bob], except: [eve]}
`

func TestDecode_ReadsBudgets(t *testing.T) {
	want := []ledgerrules.Budget{
		{Name: "daily", Period: ledgerrules.Day, Tokens: 1000, Cost: 2.5},
		{Name: "interns", Period: ledgerrules.Hour, Cost: 0.5, Principals: []string{"ada", "bob"},
			Except: []string{"eve"}}}
	set := decoded(t, budgeted)
	if got := set.Budgets(); !reflect.DeepEqual(got, want) || set.Len() != 0 {
		t.Errorf("got %+v and %d rules", got, set.Len())
	}
}

func TestDecode_ReportsFaultsOfBudgets(t *testing.T) {
	for file, want := range map[string]string{
		"budgets: [{name: a, period: day}]":             "it limits nothing",
		"budgets: [{name: a, period: year, tokens: 1}]": `period is "year"`,
		"budgets: [{name: a, period: day, tokens: 0}]":  "1:42: tokens is 0",
		"budgets: [{name: a, period: day, cost: -1}]":   "cost is -1",
		"budgets: [{name: a b, period: day, cost: 1}]":  `"a b" cannot name a budget`,
		"budgets: [{period: day, cost: 1}]":             "name is missing",
		"budgets: [{name: a, period: day, calls: 1}]":   `unknown field "calls"`,
		"budgets: []":     "neither policies nor budgets",
		"{}":              "neither policies nor budgets",
		"lists: {a: [b]}": "neither policies nor budgets",
		"budgets: [{name: a, period: day, cost: 1, principals: []}]": "principals is empty",
		"budgets: [{name: a, period: day, cost: 1}, {name: a, period: day, cost: 1}]": `there is a ` +
			`budget "a" already`,
		"budgets: [" + strings.Repeat("{name: a, period: day, cost: 1}, ", maxBudgets+1) + "]": "" +
			"there are 101 budgets",
	} {
		_, err := Decode("rules.yaml", []byte(file))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", file, err, want)
		}
	}
}

// Workers with other budgets or labels are told apart, although runs are not pinned to these.
func TestFileDigest_CoversLabelsAndBudgets(t *testing.T) {
	const rules = "policies: [{name: a, when: 'true', then: deny, message: m}]\n"
	plain, other := decoded(t, rules), decoded(t, rules+budgeted)
	labelled := decoded(t, rules+"labels: [{tools: [a], effects: [b]}]\n")
	if plain.FileDigest() != plain.Digest() || other.Digest() != plain.Digest() ||
		other.FileDigest() == plain.FileDigest() || labelled.FileDigest() == plain.FileDigest() {
		t.Errorf("digests %s, %s, %s", plain.FileDigest(), other.FileDigest(),
			labelled.FileDigest())
	}
}
