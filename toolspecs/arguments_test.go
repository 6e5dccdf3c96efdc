package toolspecs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsontext"
)

const searchSpec = `
name: search
version: 1.0.0
description: Searches.
parameters:
  - {name: query, type: string, required: true, validation: {min_length: 2, max_length: 10, pattern: "^[a-z ]+$"}}
  - {name: limit, type: integer, default: 10, validation: {min: 1, max: 100}}
  - {name: ratio, type: number, validation: {min: 0.5, max: 1e2}}
  - {name: exact, type: boolean}
  - {name: order, type: string, validation: {enum: [newest, oldest]}}
  - {name: token, type: string, sensitive: true, validation: {min_length: 20}}
  - {name: tags, type: array, validation: {min_items: 1, max_items: 2, items: {type: string, validation: {max_length: 3}}}}
  - name: filter
    type: object
    validation:
      required: [field]
      properties:
        - {name: field, type: string}
        - {name: depth, type: integer, default: 3}
        - {name: password, type: string, sensitive: true}
  - {name: extra, type: object}
  - name: rows
    type: array
    validation: {items: {type: object, validation: {properties: [{name: n, type: integer, default: 1}, {name: on, type: boolean}]}}}
entry: {type: function}
`

const schemaSpec = `
name: schema
version: 1.0.0
description: Declared by a JSON Schema.
input_schema:
  type: object
  required: [id, kind]
  properties:
    id: {type: [integer, "null"]}
    kind: {const: a, default: a}
    size: {type: integer, exclusiveMinimum: 0, exclusiveMaximum: 10, multipleOf: 2}
    set: {type: array, uniqueItems: true, contains: {type: integer}}
    open: {type: object, properties: {x: {type: integer, default: 5}}, additionalProperties: true}
    typed: {type: object, additionalProperties: {type: integer}, maxProperties: 2, minProperties: 1, propertyNames: {maxLength: 3}}
    patterned: {type: object, patternProperties: {"^x": {type: integer}}, additionalProperties: false}
    either: {anyOf: [{type: string}, {type: object, required: [a], properties: {a: {type: integer}}}]}
    one: {oneOf: [{type: integer}, {type: number}]}
    not: {not: {type: string}}
    both: {allOf: [{properties: {a: {type: integer}}}, {properties: {b: {type: integer}}}]}
    referred: {$ref: "#/$defs/positive"}
    when: {type: string, format: date}
    secret: {type: string, writeOnly: true, maxLength: 3}
    any: true
    maybe: {anyOf: [{type: integer}, {type: "null"}]}
    chosen: {enum: [a, b]}
    never: false
    depends: {dependentRequired: {a: [b]}}
  $defs: {positive: {type: integer, minimum: 1}}
entry: {type: function}
`

// nullableSpec has arguments whose default is null.
const nullableSpec = `
name: nullable
version: 1.0.0
description: Takes null.
parameters:
  - {name: cursor, type: string, default: null}
  - {name: page, type: integer, default: null}
  - {name: state, type: string, default: null, validation: {enum: ["on", "off"]}}
  - {name: any, type: any, default: null}
  - {name: listed, type: string}
entry: {type: function}
`

func decodeOne(t testing.TB, text string) *Compiled {
	t.Helper()
	specs, err := Decode("test.yaml", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := specs[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func text(notes []string, problems []api.Problem) string {
	lines := append([]string{}, notes...)
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%s [%s] %s", p.Path, p.Rule, p.Message))
	}
	return strings.Join(lines, "\n")
}

// argumentCases pair texts with their result: the arguments, or lines of notes and problems.
var argumentCases = []struct {
	tool string
	mode api.Mode
	text string
	args string
	want string
}{
	{"search", "", `{"query":"ab"}`, `{"query":"ab","limit":10}`, ""},
	{"search", "", ` { "limit" : 5 , "query" : "\u0061b" } `, `{"query":"ab","limit":5}`, ""},
	{"search", "", `{"query":"ab","limit":5.0,"filter":{"field":"f"},"rows":[{},{"n":2e0}]}`,
		`{"query":"ab","limit":5,"filter":{"field":"f","depth":3},"rows":[{"n":1},{"n":2}]}`, ""},
	{"search", "", `{"query":"ab","extra":{"z":12345678901234567890123,"a":[null,true,false,1.50]}}`,
		`{"query":"ab","limit":10,"extra":{"a":[null,true,false,1.50],"z":12345678901234567890123}}`,
		""},
	{"search", "", "", "", `$.query [required] "query" is required (string)`},
	{"search", "", `{"query":"A","limit":0,"ratio":0.1,"exact":"true","order":"newst","tags":[],"filter":{"feld":1}}`,
		"",
		`$.exact [type] must be a boolean, not the string "true"
$.filter.feld [unknown] there is no property "feld"; did you mean "field"?
$.filter.field [required] "field" is required (string)
$.limit [min] 0 must be at least 1
$.order [enum] "newst" is not one of "newest", "oldest"; did you mean "newest"?
$.query [min_length] "A" has 1 of at least 2 characters
$.query [pattern] "A" does not match the pattern ^[a-z ]+$
$.ratio [min] 0.1 must be at least 0.5
$.tags [min_items] [] has 0 of at least 1 elements`},
	{"search", "", `{"query":"abcdefghijkl","limit":101,"ratio":100.5,"tags":["a","long","c"],"rows":[{"n":"x"},5]}`,
		"",
		`$.limit [max] 101 must be at most 100
$.query [max_length] "abcdefghijkl" has 12 of at most 10 characters
$.ratio [max] 100.5 must be at most 100
$.rows[0].n [type] must be an integer, not the string "x"
$.rows[1] [type] must be an object, not the number 5
$.tags [max_items] ["a","long","c"] has 3 of at most 2 elements
$.tags[1] [max_length] "long" has 4 of at most 3 characters`},
	{"search", "", `{"query":"ab","token":"secret","filter":{"field":5,"password":["secret"]}}`, "",
		`$.filter.field [type] must be a string, not the number 5
$.filter.password [type] must be a string, not an array
$.token [min_length] the value has 6 of at least 20 characters`},
	{"search", api.ModeStrict, `{"query":"ab","qury":1,"other":{"a":1}}`, "",
		`$.other [unknown] there is no argument "other"; known: query, limit, ratio, exact, order, token, tags, filter, extra, rows
$.qury [unknown] there is no argument "qury"; did you mean "query"?`},
	{"search", api.ModeLenient,
		`{"query":"ab","qury":1,"limit":" 5 ","ratio":"1.5","exact":"True","filter":{"field":"5","depth":"2.0","x":1}}`,
		`{"query":"ab","limit":5,"ratio":1.5,"exact":true,"filter":{"field":"5","depth":2}}`,
		`$.qury is not an argument of this tool and was dropped
$.limit: " 5 " was read as 5
$.ratio: "1.5" was read as 1.5
$.exact: "True" was read as true
$.filter.x is not an argument of this tool and was dropped
$.filter.depth: "2.0" was read as 2`},
	{"search", api.ModeLenient, `{"query":"ab","limit":"5.5","exact":"yes","ratio":"0x1"}`, "",
		`$.exact [type] must be a boolean, not the string "yes"
$.limit [type] must be an integer, not the string "5.5"
$.ratio [type] must be a number, not the string "0x1"`},
	{"search", api.ModeLenient,
		`{"query":"ab","limit":null,"order":null,"tags":null,"filter":{"field":"f","depth":null}}`,
		`{"query":"ab","limit":10,"filter":{"field":"f","depth":3}}`,
		`$.limit: null was treated as absent
$.order: null was treated as absent
$.tags: null was treated as absent
$.filter.depth: null was treated as absent`},
	{"search", api.ModeLenient, `{"query":null,"filter":{"field":null}}`, "",
		`$.filter.field [type] must be a string, not null
$.query [type] must be a string, not null`},
	{"search", "", `{"query":"ab","order":null}`, "",
		`$.order [type] must be a string, not null`},
	{"nullable", "", `{}`, `{"cursor":null,"page":null,"state":null,"any":null}`, ""},
	{"nullable", "", `{"cursor":null,"page":2.0,"state":"on","any":{"a":1}}`,
		`{"cursor":null,"page":2,"state":"on","any":{"a":1}}`, ""},
	{"nullable", api.ModeLenient, `{"cursor":null,"page":"7","listed":null}`,
		`{"cursor":null,"page":7,"state":null,"any":null}`,
		`$.listed: null was treated as absent
$.page: "7" was read as 7`},
	{"schema", api.ModeLenient, `{"id":1,"kind":"a","maybe":"4","chosen":null,"size":null}`,
		`{"id":1,"kind":"a","maybe":4}`,
		`$.size: null was treated as absent
$.chosen: null was treated as absent
$.maybe: "4" was read as 4`},
	{"nullable", "", `{"page":"x","state":"of"}`, "",
		`$.page [type] must be null or an integer, not the string "x"
$.state [enum] "of" is not one of "on", "off", null; did you mean "off"?`},
	{"search", api.ModeLenient, `{"query":"ab","QUERY":"/etc/passwd"}`, "",
		`$.QUERY [case] "QUERY" and "query" differ only by letter case; write the name exactly`},
	{"search", "", `{"query":"ab","extra":{"k":1,"K":2,"\u212a":3}}`, "",
		"$.extra.k [case] \"k\" and \"K\" differ only by letter case; write the name exactly\n" +
			"$.extra[\"\u212a\"] [case] \"\u212a\" and \"K\" differ only by letter case; write the name exactly"},
	{"search", "", `{"query":"ab","extra":{"a":[{"k":1,"k":2}]}}`, "",
		`$.extra.a[0].k [duplicate] the key "k" is given twice, at byte 35`},
	{"search", "", `{"two words":1}`, "", `$.query [required] "query" is required (string)
$["two words"] [unknown] there is no argument "two words"; known: query, limit, ratio, exact, order, token, tags, filter, extra, rows`},
	{"search", "", `{"query":`, "",
		`$ [json] the arguments are not valid JSON: the text ends within a JSON value, at byte 9`},
	{"search", "", `[1]`, "", `$ [type] the arguments must be an object, such as {}, not an array`},
	{"search", "", `"x"`, "", `$ [type] the arguments must be an object, such as {}, not the string the value`},
	{"search", "", `null`, "", `$ [type] the arguments must be an object, such as {}, not null`},

	{"schema", "", `{"id":null,"kind":"a","open":{"y":1},"typed":{"a":1},"patterned":{"x1":1},"either":"s","both":{"a":1,"c":2},"referred":1,"when":"never","any":[{}]}`,
		`{"id":null,"kind":"a","open":{"x":5,"y":1},"typed":{"a":1},"patterned":{"x1":1},"either":"s","both":{"a":1,"c":2},"referred":1,"when":"never","any":[{}]}`,
		""},
	{"schema", "", `{"id":1.5,"kind":"b","size":11,"set":["a","a"],"open":{"x":"5"},"typed":{"long":"x","b":1,"c":1},"patterned":{"y":1}}`,
		"",
		`$ [propertyNames] the property name "long" is not allowed where it stands: "long" has 4 of at most 3 characters
$.id [type] must be null or an integer, not the number 1.5
$.kind [const] must be "a", not "b"
$.open.x [type] must be an integer, not the string "5"
$.patterned.y [unknown] there is no property "y"
$.set [contains] ["a","a"] is not allowed here by the rule contains
$.set [uniqueItems] the elements 0 and 1 are equal
$.size [exclusiveMaximum] 11 must be less than 10
$.size [multipleOf] 11 must be a multiple of 2
$.typed [maxProperties] {"b":1,"c":1,"long":"x"} has 3 of at most 2 properties
$.typed.long [type] must be an integer, not the string "x"`},
	{"schema", "", `{"id":1,"kind":"a","size":0,"typed":{},"either":{"a":"x"},"one":1,"not":"x","both":{"b":"x"},"referred":0,"never":1,"depends":{"a":1}}`,
		"",
		`$.both.b [type] must be an integer, not the string "x"
$.depends.b [required] "b" is required because "a" is given
$.either [anyOf] the value fits none of the allowed forms: $.either: must be a string, not an object; or $.either.a: must be an integer, not the string "x"
$.never [schema] 1 is not allowed here by the rule schema
$.not [schema] "x" is not allowed here by the rule schema
$.one [oneOf] the value fits more than one of the allowed forms
$.referred [min] 0 must be at least 1
$.size [exclusiveMinimum] 0 must be more than 0
$.typed [minProperties] {} has 0 of at least 1 properties`},
	{"schema", api.ModeLenient,
		`{"id":"7","kind":"a","secret":"hunter2","open":{"x":"6","more":1}}`, "",
		`$.id: "7" was read as 7
$.open.x: "6" was read as 6
$.secret [max_length] the value has 7 of at most 3 characters`},
	{"schema", "", `{"id":1}`, "", `$.kind [required] "kind" is required`},
}

// Each problem has its path, the name of the rule, and a message with the expected and the given
// value.
func TestArguments_AreCompleteOrReportEveryProblem(t *testing.T) {
	tools := map[string]*Compiled{"search": decodeOne(t, searchSpec), "schema": decodeOne(t,
		schemaSpec), "nullable": decodeOne(t, nullableSpec)}
	for _, c := range argumentCases {
		args, notes, problems := tools[c.tool].Arguments(c.text, c.mode)
		if string(args) != c.args || text(notes, problems) != c.want {
			t.Errorf("%s\ngot  %s\n%s\nwant %s\n%s", c.text, args, text(notes, problems), c.args,
				c.want)
		}
	}
}

// Text that is not JSON, or that JSON readers interpret differently, is refused with the position.
func TestArguments_RefuseBrokenJSON(t *testing.T) {
	c := compile(t, Spec{InputSchema: json.RawMessage(
		`{"type":"object","additionalProperties":true}`)})
	for _, b := range []struct{ text, want string }{
		{`{"a":1`, `the text ends within a JSON value, at byte 6`},
		{`{"a":1}}`, `unexpected text after the JSON value, at byte 7`},
		{`{"a":1,}`, `invalid character ',' at start of value, at byte 6`},
		{`{a:1}`, `invalid character 'a' at start of value, at byte 1`},
		{`{"a" 1}`, `invalid character '1' after object name (expecting ':'), at byte 5`},
		{`{"a":[1 2]}`, `invalid character '2' after array element (expecting ',' or ']'), at byte 8`},
		{`{"a":tru}`, `invalid character '}' in literal true (expecting 'e'), at byte 8`},
		{`{"a":NaN}`, `invalid character 'N' at start of value, at byte 5`},
		{`{"a":01}`, `invalid character '1' after object value (expecting ',' or '}'), at byte 6`},
		{`{"a":-}`, `invalid character '}' in number (expecting digit), at byte 6`},
		{`{"a":1.}`, `invalid character '}' in number (expecting digit), at byte 7`},
		{`{"a":1e}`, `invalid character '}' in number (expecting digit), at byte 7`},
		{`{"a":"x`, `the text ends within a JSON value, at byte 7`},
		{`{"a":"x\`, `the text ends within a JSON value, at byte 7`},
		{"{\"a\":\"\n\"}", `invalid character '\n' in string (expecting non-control character), at byte 6`},
		{`{"a":"\x"}`, `invalid escape sequence, at byte 6`},
		{`{"a":"\ud800x"}`, `invalid surrogate pair, at byte 6`},
		{`{"\q":1}`, `invalid escape sequence, at byte 2`},
		{"{\"a\":\"\xff\"}", `invalid UTF-8, at byte 6`},
	} {
		args, _, problems := c.Arguments(b.text, "")
		want := "$ [json] the arguments are not valid JSON: " + b.want
		if args != nil || text(nil, problems) != want {
			t.Errorf("%s\ngot  %s\nwant %s", b.text, text(nil, problems), want)
		}
	}
	for broken, want := range map[string]string{
		`{"a":1e+1001}`: "the exponent of a number is larger than 1000, at byte 12",
		`{"a":` + strings.Repeat("1", 1001) + `}`: "a number has more than 1000 digits, " +
			"at byte 1006",
		strings.Repeat(`{"a":`, 201) + "1" + strings.Repeat("}", 201): "the values nest more " +
			"than 200 deep, at byte 1001",
	} {
		_, _, problems := c.Arguments(broken, "")
		if got := text(nil, problems); got != "$ [limit] the arguments are too large: "+want {
			t.Errorf("got %s, not %s", got, want)
		}
	}
	if args, _, problems := c.Arguments(`{"a":"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t"}`,
		""); string(args) != `{"a":"é😀\"\\/\b\f\n\r\t"}` {
		t.Errorf("got %s %v", args, problems)
	}
}

// More problems are counted only, because a model's context is limited.
func TestArguments_ReportAtMost100Problems(t *testing.T) {
	c := decodeOne(t, searchSpec)
	_, _, problems := c.Arguments(`{"query":"ab","rows":[`+strings.Repeat(`1,`, 4999)+`1]}`, "")
	if len(problems) != 101 || problems[100].Message != "there are 4900 more problems" {
		t.Errorf("%d problems, the last %v", len(problems), problems[len(problems)-1])
	}
}

// CanonicalJSON keeps every digit.
func TestCanonicalJSON_IsEqualForEqualValues(t *testing.T) {
	got, err := jsontext.Canonical(
		" {\"b\" : [1.0, 12345678901234567890], \"a\":\"<\\u0041\\u2028\"}")
	if err != nil || string(got) != `{"a":"<A\u2028","b":[1.0,12345678901234567890]}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := jsontext.Canonical(`{"a":1,"a":2}`); err == nil {
		t.Error("a repeated key was accepted")
	}
}

// The declaration has several forms. Without one, every result is valid.
func TestCheckOutput_ValidatesAgainstTheDeclaration(t *testing.T) {
	yaml := "name: a\nversion: 1.0.0\ndescription: A.\nentry: {type: function}\n"
	for _, c := range []struct{ output, value, want string }{
		{"", `{"a":`, ""},
		{"output: {type: integer, validation: {min: 1}}", `5`, ""},
		{"output: {type: integer, validation: {min: 1}}", `0`, "$ [min] 0 must be at least 1"},
		{"output: {type: integer, sensitive: true}", `"x"`,
			"$ [type] must be an integer, not the string the value"},
		{"output: {type: object, validation: {properties: [{name: a, type: string, required: true}]}}",
			`{"b":1}`,
			"$.a [required] \"a\" is required (string)\n$.b [unknown] there is no property \"b\""},
		{"output_schema: {type: array, items: {type: string}}", `["a",1]`,
			"$[1] [type] must be a string, not the number 1"},
		{"output: {type: string}", `{"a":1,"a":2}`,
			`$.a [duplicate] the result is not usable JSON: the key "a" is given twice, at byte 7`},
	} {
		tool := decodeOne(t, yaml+c.output+"\n")
		if got := text(nil, tool.CheckOutput(json.RawMessage(c.value))); got != c.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.output, c.value, got, c.want)
		}
	}
}

// Everything within a sensitive value is hidden, also if a nested part of the schema declares it.
func TestRedaction_HidesSensitiveValuesCompletely(t *testing.T) {
	login := decodeOne(t, `
name: login
version: 1.0.0
description: Logs in.
parameters:
  - {name: as, type: object, sensitive: true, validation: {properties: [{name: pin, type: integer}, {name: user, type: string, validation: {min_length: 20}}]}}
entry: {type: function}
`)
	hidden := decodeOne(t, `
name: hidden
version: 1.0.0
description: Hides a definition.
input_schema:
  type: object
  properties: {a: {type: integer}, b: {anyOf: [{type: integer}, {$ref: "#/$defs/secret"}]}}
  $defs: {secret: {type: object, properties: {key: {type: string, writeOnly: true, maxLength: 2}}}}
entry: {type: function}
`)
	for _, c := range []struct {
		tool       *Compiled
		text, want string
	}{
		{login, `{"as":{"pin":"1234","user":"hunter2"}}`,
			"$.as.pin: the text was read as the declared type\n$.as.user [min_length] the value has 7 of at least 20 characters"},
		{hidden, `{"a":"1234","b":{"key":"hunter2"}}`,
			"$.a: \"1234\" was read as 1234\n$.b [anyOf] the value fits none of the allowed forms: " +
				"$.b: must be an integer, not an object; or $.b.key: the value has 7 of at most 2 characters"},
	} {
		_, notes, problems := c.tool.Arguments(c.text, api.ModeLenient)
		if got := text(notes, problems); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func BenchmarkArguments(b *testing.B) {
	c := decodeOne(b, searchSpec)
	for b.Loop() {
		if _, _, problems := c.Arguments(
			`{"query":"some words","limit":5,"exact":true,"filter":{"field":"title"}}`,
			""); problems != nil {
			b.Fatal(problems)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	s := decodeOne(b, searchSpec).Spec
	for b.Loop() {
		if _, err := s.Compile(); err != nil {
			b.Fatal(err)
		}
	}
}
