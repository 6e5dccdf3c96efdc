package policies

import (
	"reflect"
	"strings"
	"testing"
)

// A label counts unless all its conditions are false. A condition that cannot be evaluated counts
// as true.
func TestEmissions_CountUnlessTheirConditionsAreFalse(t *testing.T) {
	const args, result = `{"path":"/home/a","n":3}`,
		`{"visibility":"public","size":2,"items":[{"by":"bob"},{"by":"eve"}]}`
	for _, c := range []struct {
		when string
		want []string
	}{
		{"", nil},
		{"result.visibility == 'private'", []string{"l"}},
		{"result.visibility == 'public'", nil},
		{"args.path.startsWith('/etc') || result.size > 2", []string{"l"}},
		{"args.n == 3", nil},
		{"result.items.exists(i, i.by == 'mallory')", []string{"l"}},
		{"result.items.exists(i, i.by == 'eve')", nil},
		{"result.missing == 'x'", nil},
		{"has(result.missing) && result.missing == 'x'", []string{"l"}},
		{"result.visibility > 3", nil},
		{"result == 'text'", []string{"l"}},
	} {
		e, err := CompileEmissions([]Emission{{Label: "l", When: c.when}})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.NotEmitted([]byte(args), []byte(result)); !sameWords(got, c.want) {
			t.Errorf("%s: not emitted are %q, want %q", c.when, got, c.want)
		}
	}
}

func sameWords(a, b []string) bool { return strings.Join(a, ",") == strings.Join(b, ",") }

// One of several conditions is enough, text is a result, and what cannot be read counts.
func TestEmissions_OfSeveralConditions(t *testing.T) {
	e, err := CompileEmissions([]Emission{{Label: "a", When: "result.contains('x')"}, {Label: "b"},
		{Label: "a", When: "size(args) > 0"}, {Label: "c", When: "result.contains('y')"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Labels(); !reflect.DeepEqual(got, []string{"a", "b", "c"}) {
		t.Errorf("labels are %q", got)
	}
	for _, c := range []struct{ args, result, want string }{
		{"", `"x"`, "c"}, {"", `"y"`, "a"}, {`{"k":1}`, `"z"`, "c"}, {"", `"z"`, "a,c"},
		{`{`, `"z"`, ""}, {"", ``, ""},
	} {
		got := e.NotEmitted([]byte(c.args), []byte(c.result))
		if strings.Join(got, ",") != c.want {
			t.Errorf("%s, %s: not emitted are %q, want %q", c.args, c.result, got, c.want)
		}
	}
	var none *Emissions
	if none.Labels() != nil || none.NotEmitted(nil, nil) != nil {
		t.Error("a nil one emits something")
	}
}

// Work is bounded: an expression that needs too much of it fails, and the label counts.
func TestEmissions_AreBounded(t *testing.T) {
	e, err := CompileEmissions([]Emission{{Label: "l",
		When: "result.all(a, result.all(b, result.all(c, a + b + c > 0)))"}})
	if err != nil {
		t.Fatal(err)
	}
	list := "[1" + strings.Repeat(",1", 500) + "]"
	if got := e.NotEmitted(nil, []byte(list)); len(got) > 0 {
		t.Errorf("not emitted are %q", got)
	}
}
