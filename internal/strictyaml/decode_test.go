package strictyaml

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

type inner struct {
	Count   int    `yaml:"count" rule:"min=1,max=9"`
	Hidden  string `yaml:"label"`
	Skipped string `yaml:"-"`
	NoTag   string
}

type outer struct {
	inner
	Label  string           `yaml:"label" rule:"required"`
	Kind   string           `json:"kind,omitempty" rule:"enum=red|blue"`
	Raw    json.RawMessage  `yaml:"raw"`
	Number *json.Number     `yaml:"number"`
	Ratio  float64          `yaml:"ratio" rule:"above=0"`
	On     *bool            `yaml:"on"`
	Wait   api.Duration     `yaml:"wait" rule:"min=1s"`
	Words  []string         `yaml:"words" rule:"enum=a|b,max=2"`
	Inner  []inner          `yaml:"inner"`
	Token  string           `yaml:"token" rule:"secret"`
	Login  *inner           `yaml:"login" rule:"secret"`
	Named  map[string]inner `yaml:"named"`
	Levels map[string]int   `yaml:"levels" rule:"min=0,max=9" hint:"omit it"`
}

func decodeText(t *testing.T, text string) (outer, *Document) {
	t.Helper()
	doc, faults := ParseOne("f.yaml", []byte(text), 1<<16)
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	var o outer
	doc.Decode(&o)
	return o, doc
}

// Embedded structs and raw JSON are included.
func TestDecode_SupportsEveryKindOfField(t *testing.T) {
	o, doc := decodeText(t, `
count: 5
label: 2024-01-01
kind: red
raw: {b: [1, 0x10, 1_000, .5, 2024-01-01, ~, yes, TRUE], a: "x<y", <<: {b: 1, c: 2}}
number: 12345678901234567890.5
ratio: 1e3
on: FALSE
wait: 90s
words: [a, b]
inner: [{count: 1}]
named: {b: &b {count: 2}, "two words": *b, <<: {c: {count: 3}}}
levels: {low: 1, 7: 0}
`)
	if err := doc.Faults().Err(); err != nil {
		t.Fatal(err)
	}
	off, number := false, json.Number("12345678901234567890.5")
	want := outer{
		inner: inner{Count: 5}, Label: "2024-01-01", Kind: "red", Number: &number, Ratio: 1000,
		On:   &off,
		Raw:  json.RawMessage(`{"b":[1,16,1000,0.5,"2024-01-01",null,"yes",true],"a":"x<y","c":2}`),
		Wait: api.Duration(90 * time.Second), Words: []string{"a", "b"}, Inner: []inner{{Count: 1}},
		Named:  map[string]inner{"b": {Count: 2}, "two words": {Count: 2}, "c": {Count: 3}},
		Levels: map[string]int{"low": 1, "7": 0},
	}
	if keys := doc.Keys("$.named"); !slices.Equal(keys, []string{"b", "two words", "c"}) ||
		doc.Keys("$.none") != nil || doc.Keys("$.words") != nil {
		t.Errorf("the keys are %q", keys)
	}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got\n%+v\nwant\n%+v", o, want)
	}
}

// Each kind of fault says what is wrong, where, and what to do.
func TestFaults_HavePlaceAndHint(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"label: x\nlabell: y", `f.yaml:2:1: unknown field "labell" (did you mean "label"?)`},
		{"label: x\ntoken: 12345", "f.yaml:2:8: this must be text, not what is written here"},
		{"label: x\ntoken: [12345]", "f.yaml:2:8: this must be text, not a list"},
		{"label: x\nnamed: [1]", "f.yaml:2:8: this must be a mapping, not a list"},
		{"label: x\nnamed: {a: }",
			"f.yaml:2:12: a value is missing here; this must be a mapping (remove the key, or give it a value)"},
		{"label: x\nnamed: {a: {cuont: 1}}",
			`f.yaml:2:13: unknown field "cuont" (did you mean "count"?)`},
		{"label: x\nnamed: {a: {count: 1}, a: {count: 2}}",
			`f.yaml:2:24: "a" is given twice; the first is in line 2 (remove one)`},
		{"label: x\nlevels: {low: 10}", "f.yaml:2:15: low is 10; the maximum is 9 (omit it)"},
		{"label: x\nlevels: {<<: 1}",
			`f.yaml:2:14: << merges mappings, but this is not a mapping (put "<<" in quotes where it is meant as a key)`},
		{"label: x\nlogin: planted",
			"f.yaml:2:8: this must be a mapping, not what is written here"},
		{"label: x\nlogin: {count: 10}", "f.yaml:2:16: count is 10; the maximum is 9"},
		{"label: x\ncount: 10", "f.yaml:2:8: count is 10; the maximum is 9"},
		{"label: x\ncount: 1.5", "f.yaml:2:8: this must be a whole number, not the number 1.5"},
		{"label: x\ncount: 99999999999999999999", "f.yaml:2:8: 99999999999999999999 is too large"},
		{"label: x\ncount: !!int 99999999999999999999",
			"f.yaml:2:8: 99999999999999999999 is too large"},
		{"label: x\ncount: '5'", `f.yaml:2:8: this must be a whole number, not the text "5"`},
		{"label: x\nratio: \"5\"", `f.yaml:2:8: this must be a number, not the text "5"`},
		{"label: x\nnumber: !!str 5", `f.yaml:2:9: this must be a number, not the text "5"`},
		{"label: x\nratio: 1e999", `f.yaml:2:8: this must be a number, not the text "1e999"`},
		{"label: x\nratio: .inf",
			"f.yaml:2:8: .inf is not a JSON number (write a finite number, or put text in quotes)"},
		{"label: x\nratio: 0", "f.yaml:2:8: ratio is 0; it must be more than 0"},
		{"label: x\nnumber: x", `f.yaml:2:9: this must be a number, not the text "x"`},
		{"label: x\nnumber: [1]", "f.yaml:2:9: this must be a number, not a list"},
		{"label: ''", "f.yaml:1:8: label is empty"},
		{"label: x\nkind: rad",
			`f.yaml:2:7: kind is "rad"; it must be one of red, blue (did you mean "red"?)`},
		{"label: x\nwords: [c]", `f.yaml:2:9: words is "c"; it must be one of a, b`},
		{"label: x\nwords: [a, b, a]", `f.yaml:2:8: words is 3 long; the maximum is 2`},
		{"label: x\nwait: 1", `f.yaml:2:7: "1" is not a duration; write a number and a unit, such as 500ms, 30s or 2h`},
		{"label: x\nwait: 1ms", "f.yaml:2:7: wait is 1ms; the minimum is 1s"},
		{"label: x\nwait: [1]", "f.yaml:2:7: this must be text, not a list"},
		{"label: x\non: 'true'", `f.yaml:2:5: this must be true or false, not the text "true"`},
		{"label: x\nraw: {? : 1}", "f.yaml:2:9: a key is missing here"},
		{"label: x\nraw: !x [1]",
			"f.yaml:2:6: the tag !x is not supported (remove it, and write the value itself)"},
		{"label: x\nraw: !x {a: 1}",
			"f.yaml:2:6: the tag !x is not supported (remove it, and write the value itself)"},
		{"label: x\nraw: 08", "f.yaml:2:6: 08 is not a JSON number (numbers with a leading zero are ambiguous; remove the zero, or put text in quotes)"},
		{"label: x\n<<: [{count: 1}, 5]",
			`f.yaml:2:18: << merges mappings, but this is not a mapping (put "<<" in quotes where it is meant as a key)`},
		{"label: " + strings.Repeat("1", 50), `f.yaml:1:8: this must be text, not the number ` +
			strings.Repeat("1", 40) + `… (put it in quotes: "` + strings.Repeat("1", 50) + `")`},
	} {
		_, doc := decodeText(t, c.text)
		err := doc.Faults().Err()
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

// The place is the value, its key, or the nearest parent. A place has one fault.
func TestReport_PlacesFaultsOfLaterChecks(t *testing.T) {
	_, doc := decodeText(t, "label: &l x\ninner:\n  - {count: 1}\nraw: {\"two words\": *l}\n")
	doc.Report("$.inner[0].count", "at the value", "")
	doc.Report("$.inner[0].count", "not again", "")
	doc.Report("$.inner[0].missing.deep", "at the element", "")
	doc.Report("$.inner[7]", "at the list", "")
	doc.ReportKey("$.raw", "at the key", "")
	doc.ReportKey("$.raw.none", "at the parent", "")
	doc.ReportKey("$.none.deeper", "at the root", "")
	doc.Report(`$.raw["two words"]`, "at the alias", "")
	want := "f.yaml:1:1: at the root\nf.yaml:3:3: at the list\nf.yaml:3:5: at the element\nf.yaml:3:13: at the value\nf.yaml:4:1: at the key\nf.yaml:4:6: at the parent\nf.yaml:4:20: at the alias"
	if got := doc.Faults().Err().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if line, column := doc.Position("$.inner"); line != 3 || column != 3 {
		t.Errorf("inner is at %d:%d", line, column)
	}
	if doc.IsList() {
		t.Error("a mapping is called a list")
	}
}

func TestCheck_AppliesTheRulesToGoValues(t *testing.T) {
	on := true
	problems := Check(outer{inner: inner{Count: 10}, Kind: "green", Wait: 1,
		Words: []string{"a", "x"}, On: &on,
		Inner: []inner{{Count: 1}, {Count: -1}}, Raw: json.RawMessage("[]")})
	var got []string
	for _, p := range problems {
		got = append(got, p.Path+": "+p.Message)
	}
	want := `$.count: count is 10; the maximum is 9
$.inner[1].count: count is -1; the minimum is 1
$.kind: kind is "green"; it must be one of red, blue
$.label: label is missing
$.wait: wait is 1ns; the minimum is 1s
$.words[1]: words is "x"; it must be one of a, b`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// A large document of faults costs no more than reading it.
func TestManyFaults_AreBounded(t *testing.T) {
	_, doc := decodeText(t, "label: x\nwords: ["+strings.Repeat("1, ", 1499)+"1]")
	faults := doc.Faults()
	if !doc.Full() || len(faults) != maxFaults+1 ||
		faults[maxFaults].Message != "there are 501 more faults" {
		t.Errorf("%d faults, the last %v", len(faults), faults[len(faults)-1])
	}
}

// The error has the place.
func TestParse_RefusesInvalidTexts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f.yaml:1:1: the file is empty"},
		{strings.Repeat("x", 101),
			"f.yaml:1:1: the file is larger than the maximum of 100 bytes (split it into smaller files)"},
		{"a: é\nb: \xff", "f.yaml:2:4: byte 0xff is not valid UTF-8 (save the file as UTF-8)"},
		{"a: é\x01", `f.yaml:1:5: control character U+0001 (is this a text file? within double quotes write \u0001)`},
		{"\xfe\xff\x00a", "f.yaml:1:1: the file is encoded as UTF-16 (save it as UTF-8)"},
		{"a: 1\nb: [1\n", "f.yaml:2:1: this is not YAML: did not find expected ',' or ']' (check the indentation and the brackets from this line on)"},
		{"a: 1\n---\nb: 1\n", "f.yaml:3:1: a second document starts here; this kind of file has one (put each document into its own file)"},
		{"a: *b", "f.yaml:1:4: there is no anchor &b before the alias *b (put &name before the value, or put text that starts with * in quotes)"},
		{"# é *b\na: {é: '*b', c: [*bb, *b]}\nb: &bb 1",
			"f.yaml:2:18: there is no anchor &bb before the alias *bb (put &name before the value, or put text that starts with * in quotes)"},
		{"a: &bb 1\nc: [*bb,\n  *b]",
			"f.yaml:3:3: there is no anchor &b before the alias *b (put &name before the value, or put text that starts with * in quotes)"},
		{"a: \"x\nb: 1\n", "f.yaml:1:1: this is not YAML: found unexpected end of stream (a quote or bracket is not closed)"},
		{"a: 1\n  \nb: 'x\nc: 1\n",
			"f.yaml:3:1: this is not YAML: found unexpected end of stream (a quote or bracket is not closed)"},
		{"%YAML 1.2\n---\na: 1",
			"f.yaml:1:1: this is not YAML: found incompatible YAML document (remove the lines that begin with %)"},
		{"a: @b", "f.yaml:1:1: this is not YAML: found character that cannot start any token (indent with spaces, not tabs, and put text that starts with a special character in quotes)"},
	} {
		_, faults := ParseOne("f.yaml", []byte(c.text), 100)
		if err := faults.Err(); err == nil || err.Error() != c.want {
			t.Errorf("%q\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
	if faults := (Faults{}); faults.Err() != nil {
		t.Error("no faults are an error")
	}
	if _, ok := errors.AsType[Faults](error(Faults{{File: "f", Message: "m"}})); !ok {
		t.Error("Faults is not found by errors.AsType")
	}
	if got := (Fault{File: "f", Message: "m"}).String(); got != "f: m" {
		t.Errorf("got %q", got)
	}
}

// The error has the place.
func TestParse_RefusesYAMLInJSONFiles(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{\n  \"é\": [1, 2,]}",
			"f.json:2:14: this is not JSON: invalid character ']' looking for beginning of value (remove the comma before it)"},
		{"label: x", "f.json:1:1: this is not JSON: invalid character 'l' looking for beginning of value (check the quotes, commas and brackets)"},
		{"[1", "f.json:1:2: this is not JSON: unexpected end of JSON input (check the quotes, commas and brackets)"},
		{" \n", "f.json:1:1: the file is empty"},
	} {
		_, faults := ParseOne("f.json", []byte(c.text), 100)
		if err := faults.Err(); err == nil || err.Error() != c.want {
			t.Errorf("%q\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

// Soft faults are repeated keys, of which the first counts, keys that are no text, and tags without
// a form in JSON.
func TestSoftFaults_HideNoOtherFaults(t *testing.T) {
	o, doc := decodeText(t, "label: first\nlabel: 5\n? [x]\n: y\ncount: !!python/object x\nraw: {a: !!bool maybe, b: !!set {}, a: 1}\nwords: !x [1]\nnope: 1\n")
	want := `f.yaml:2:1: "label" is given twice; the first is in line 1 (remove one)
f.yaml:3:3: a key must be text, not a list or mapping
f.yaml:5:8: the tag !!python/object is not supported (remove it, and write the value itself)
f.yaml:6:10: "maybe" is not a boolean (write true or false)
f.yaml:6:27: the tag !!set is not supported (remove it, and write the value itself)
f.yaml:6:37: "a" is given twice; the first is in line 6 (remove one)
f.yaml:7:8: the tag !x is not supported (remove it, and write the value itself)
f.yaml:8:1: unknown field "nope" (known: count, label, kind, raw, number, ratio, on, wait, words, inner, token, login, named, levels)`
	if got := doc.Faults().Err().Error(); got != want || o.Label != "first" ||
		string(o.Raw) != `{"a":false,"b":{}}` {
		t.Errorf("got\n%s\nwant\n%s\n%+v %s", got, want, o, o.Raw)
	}
}

// Files are read as JSON, with places, also if they are invalid YAML.
func TestParse_ReadsJSONFiles(t *testing.T) {
	doc, faults := ParseOne("f.json",
		[]byte("{\n\t\"label\": \"a\\/b\\ud83d\\ude00\",\n\t\"raw\": [1.5e3, {\"é\": true, \"x\": [false, null]}], \"count\": \"x\"}"),
		1000)
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	var o outer
	doc.Decode(&o)
	if o.Label != "a/b😀" || string(o.Raw) != `[1.5e3,{"é":true,"x":[false,null]}]` {
		t.Errorf("got %+v %s", o, o.Raw)
	}
	want := `f.json:3:60: this must be a whole number, not the text "x"`
	if err := doc.Faults().Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
