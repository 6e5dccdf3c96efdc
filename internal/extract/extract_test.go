package extract

import (
	"testing"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

const document = `{"data":[{"id":12345678901234567890,"n":5,"s":"x","ok":true},{"id":2,"n":7.50,"s":"y","ok":null}],
	"a/b":{"m~n":{"":1e2}},"none":null,"big":9007199254740993,"exact":9007199254740992,"long":0.1234567890123456789,"huge":1e999,"zero":-0.0}`

// Numbers keep every digit.
func TestFrom_ReturnsThePartOfAPointerOrExpression(t *testing.T) {
	cases := []struct {
		expression, want string
		found, exact     bool
	}{
		{"/data/0/id", "12345678901234567890", true, true},
		{"/data/1/n", "7.50", true, true},
		{"/a~1b/m~0n/", "1e2", true, true},
		{"/none", "null", true, true},
		{"/", "null", false, true},
		{"/data/2", "null", false, true},
		{"/data/-1", "null", false, true},
		{"/data/01", "null", false, true},
		{"/data/x", "null", false, true},
		{"/big/x", "null", false, true},
		{"data[0].id", "12345678901234567890", true, true},
		{"data[*].id", "[12345678901234567890,2]", true, true},
		{"data[].{id: id, name: s}", `[{"id":12345678901234567890,"name":"x"},{"id":2,"name":"y"}]`,
			true, true},
		{"big", "9007199254740993", true, true},
		{"[exact, long, huge]", "[9007199254740992,0.1234567890123456789,1e999]", true, true},
		{"data[?n>`6`].s", `["y"]`, true, false},
		{"data[?n==`5`].s | [0]", `"x"`, true, false},
		{"sum(data[*].n)", "12.5", true, false},
		{"data[?ok].s", `["x"]`, true, false},
		{"none", "null", false, true},
		{"missing.deep", "null", false, true},
		{"@", "", true, true},
	}
	value, err := jsonvalue.Decode([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		e, err := Compile(c.expression)
		if err != nil {
			t.Errorf("%s: %v", c.expression, err)
			continue
		}
		part, found, exact, err := e.From(value)
		got, _ := jsonvalue.Encode(part)
		if err != nil || found != c.found || exact != c.exact || c.want != "" &&
			string(got) != c.want {
			t.Errorf("%s: got %s, %t, %t, %v", c.expression, got, found, exact, err)
		}
	}
}

// Invalid expressions and values that do not fit them are reported. A panic of the library becomes
// an error.
func TestFaults_AreReported(t *testing.T) {
	for _, text := range []string{"", "a[", "a ==", "data[?n>6", "/a~2", "/~", "let$0 in$", "@()",
		"nosuch(@)", "\x00"} {
		e, err := Compile(text)
		if err == nil {
			_, _, _, err = e.From(map[string]any{})
		}
		if err == nil {
			t.Errorf("%q is an expression", text)
		}
	}
	e, err := Compile("length(n)")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := e.From(map[string]any{"n": true}); err == nil ||
		err.Error() != `invalid type for: true, expected: []functions.JpType{"string", "array", "object"}` {
		t.Errorf("got %v", err)
	}
}

// FuzzCompile checks that no text makes the library panic through this package.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{"a[?n>`5`].s", "sort_by(a,&id)[0]", "let $x = a in $x[0]",
		"a[::-1]", "`{\"a\":1}`", "group_by(a,&s)", "/a/0"} {
		f.Add(text)
	}
	value, err := jsonvalue.Decode([]byte(document))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		if e, err := Compile(text); err == nil {
			_, _, _, _ = e.From(value)
		}
	})
}
