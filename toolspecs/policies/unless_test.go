package policies

import (
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// The exception counts only where the condition is true, and one that fails or does not compile
// denies.
func TestUnless_ExceptsCallsAndFailsClosed(t *testing.T) {
	for _, c := range []struct {
		when, unless, failure string
		want                  api.PolicyEffect
	}{
		{"true", "args.to.endsWith('@example.com')", "", ""},
		{"true", "args.to.endsWith('@example.org')", "", api.PolicyAsk},
		{"false", "args.bcc == 'x'", "", ""},
		{"true", "args.bcc == 'x'", "no such key: bcc", api.PolicyDeny},
		{"false", "nothing", "the expression does not compile: at 1:1 of the expression: " +
			"undeclared reference to 'nothing'", api.PolicyDeny},
	} {
		var want []api.PolicyAction
		if c.want != "" {
			want = []api.PolicyAction{{Rule: "r", Effect: c.want, Message: "m", Failure: c.failure}}
		}
		got := checkAll(sending(), NewSet(api.PolicyRule{Name: "r", When: c.when, Unless: c.unless,
			Then: api.PolicyAsk, Message: "m"}))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s unless %s: got %+v, want %+v", c.when, c.unless, got, want)
		}
	}
}

// Faults of an exception have its position in the file.
func TestUnless_ReportsFaults(t *testing.T) {
	const file = `policies:
  - name: r
    when: "true"
    unless: args.nothing == tool.nmae
    then: deny
    message: m
  - name: s
    when: "true"
    unless: args.too == 'x'
    then: deny
    message: m
`
	_, err := DecodeFor("f.yaml", []byte(file), Tools{"send": {Names: []string{"to"}}})
	const want = `f.yaml:4:13: rule "r", at 1:21 of the expression: undefined field 'nmae' ` +
		`(did you mean "name"?)
f.yaml:9:13: rule "s" reads args.too, which none of its tools takes (did you mean "to"?)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
