package jsontext_test

import (
	"fmt"
	"testing"

	"github.com/switchyard/switchyard/internal/jsontext"
)

func parsed(t *testing.T, text string) any {
	t.Helper()
	value, fault := jsontext.Parse(text)
	if fault != nil {
		t.Fatal(fault)
	}
	return value
}

// The first examples are those of RFC 7396, appendix A.
func TestMerge_AppliesAMergePatch(t *testing.T) {
	for _, tt := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"a":"text"}`, `{"a":{"b":1.50}}`, `{"a":{"b":1.50}}`},
		{`{"a":[{"b":null}]}`, `{"c":[null]}`, `{"a":[{"b":null}],"c":[null]}`},
	} {
		target, patch := parsed(t, tt[0]), parsed(t, tt[1])
		if got := string(jsontext.Encode(jsontext.Merge(target, patch), nil)); got != tt[2] {
			t.Errorf("%s with %s: got %s, want %s", tt[0], tt[1], got, tt[2])
		}
		if string(jsontext.Encode(target, nil)) != string(jsontext.Encode(parsed(t, tt[0]), nil)) {
			t.Errorf("%s was changed", tt[0])
		}
	}
}

func TestDifferences_AreThoseOfMembers(t *testing.T) {
	before := `{"same":1,"a":{"b":1,"c":[1],"gone":null},"a.b":2,"o":{"x":1},"t":"x"}`
	after := `{"same":1,"a":{"b":2,"c":[1,2]},"a.b":3,"o":1,"t":{"y":null},"new":{"z":0}}`
	var got []string
	for _, d := range jsontext.Differences(parsed(t, before), parsed(t, after)) {
		got = append(got, fmt.Sprintf("%s: %s to %s %v %v", d.Name(), jsontext.Encode(d.Before, nil),
			jsontext.Encode(d.After, nil), d.Added, d.Removed))
	}
	want := []string{"a.b: 1 to 2 false false", "a.c: [1] to [1,2] false false",
		"a.gone: null to null false true", `["a.b"]: 2 to 3 false false`,
		`new: null to {"z":0} true false`, `o: {"x":1} to 1 false false`,
		`t: "x" to {"y":null} false false`}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
