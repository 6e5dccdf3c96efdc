package jsonvalue

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// jsonValues draws JSON texts with blanks, escapes and every kind of value, as tools return them.
func jsonValues() *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage { return json.RawMessage(drawJSON(t, 3)) })
}

func drawJSON(t *rapid.T, depth int) string {
	blank := func() string {
		return rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r"}).Draw(t,
			"blank")
	}
	kinds := 3
	if depth > 0 {
		kinds = 5
	}
	var text string
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		text = rapid.SampledFrom([]string{"null", "true", "false", "0", "-1.5e30",
			"12345678901234567890"}).Draw(t, "scalar")
	case 1:
		text = drawString(t)
	case 2:
		data, err := json.Marshal(rapid.String().Draw(t, "string"))
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	case 3:
		var elements []string
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			elements = append(elements, drawJSON(t, depth-1))
		}
		text = "[" + blank() + strings.Join(elements, ",") + blank() + "]"
	default:
		var members []string
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			members = append(members, blank()+drawString(t)+blank()+":"+drawJSON(t, depth-1))
		}
		text = "{" + strings.Join(members, ",") + blank() + "}"
	}
	return blank() + text + blank()
}

// drawString draws a JSON string from parts that encoders and decoders treat specially.
func drawString(t *rapid.T) string {
	segments := []string{"a", "<", ">", "&", `\u003c`, `\u003C`, `\\u003c`, `\\`, `\"`, `\/`, `\n`,
		"\u2028", `\u2028`, "\u2029", `\u2029`, "é", "😀", `\ud83d\ude00`, `\ud800`, "\xff", "u003e",
		" "}
	return `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(segments), 0, 6).Draw(t, "pieces"),
		"") + `"`
}

// A result has the same text in the process that created it and in the workflow that reads it from
// history: digests of the conversation depend on it.
func TestPlain_SurvivesEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := jsonValues().Draw(t, "value")
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatalf("the generator made no JSON: %q: %v", value, err)
		}
		if before, after := Plain(value), Plain(encoded); before != after {
			t.Fatalf("%q reads %q before encoding and %q after", value, before, after)
		}
	})
}

// A string is its content, other values are compact, and escapes of the encoder are removed.
func TestPlain_IsReadableByModels(t *testing.T) {
	tests := []struct{ value, want string }{
		{`"a \"quoted\" <word>"`, `a "quoted" <word>`},
		{" \n\"blanks around\" ", "blanks around"},
		{`{"a": 1, "b": [true, null]}`, `{"a":1,"b":[true,null]}`},
		{`{"a":"\u003cb\u003e \u0026"}`, `{"a":"<b> &"}`},
		{`{"a":"\\u003c"}`, `{"a":"\\u003c"}`},
		{`{"a":"\u00e9"}`, `{"a":"\u00e9"}`},
		{`["\u2028"]`, "[\"\u2028\"]"},
		{`12345678901234567890`, `12345678901234567890`},
		{`not JSON <`, `not JSON <`},
		{`"cut off`, `"cut off`},
		{``, ``},
	}
	for _, tt := range tests {
		if got := Plain(json.RawMessage(tt.value)); got != tt.want {
			t.Errorf("Plain(%s) = %q, want %q", tt.value, got, tt.want)
		}
	}
}

// Numbers keep every digit.
func TestDecode_ReadsExactlyOneValue(t *testing.T) {
	got, err := Decode([]byte(` {"n": 12345678901234567890.5} `))
	if want := map[string]any{"n": json.Number("12345678901234567890.5")}; err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for text, says := range map[string]string{
		"":                         "the JSON value is missing",
		" \n":                      "the JSON value is missing",
		`{"a":1}}`:                 "unexpected text after the JSON value, at byte 7",
		`{"a":1}]`:                 "unexpected text after the JSON value, at byte 7",
		`1 2`:                      "unexpected text after the JSON value, at byte 1",
		`"a" garbage`:              "unexpected text after the JSON value, at byte 3",
		`{"a":`:                    "the JSON value is incomplete",
		`{'a':1}`:                  `unexpected '\'' at byte 2; names and strings need double quotes`,
		`["é",]`:                   `unexpected ']' at byte 7`,
		strings.Repeat("[", 20000): "it is nested more than 10000 levels deep",
	} {
		if v, err := Decode([]byte(text)); err == nil || err.Error() != says {
			t.Errorf("Decode(%.20q) = %v, %v, want %s", text, v, err, says)
		}
	}
}

func TestText_FormatsValuesThatJSONCannotEncode(t *testing.T) {
	for want, value := range map[string]any{"a<b": "a<b", `["<&>"]`: []any{"<&>"},
		"1.50": json.Number("1.50"), "+Inf": math.Inf(1)} {
		if got := Text(value); got != want {
			t.Errorf("Text(%v) = %q, want %q", value, got, want)
		}
	}
}
