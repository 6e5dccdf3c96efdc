package tools

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

func TestString_ComputesEveryOperation(t *testing.T) {
	cases := []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"operation": "length", "text": "häß𝄞"}, `4`},
		{map[string]any{"operation": "length"}, `0`},
		{map[string]any{"operation": "upper", "text": "äß"}, `Äß`},
		{map[string]any{"operation": "lower", "text": "ÄB"}, `äb`},
		{map[string]any{"operation": "trim", "text": " \n a b\t"}, `a b`},
		{map[string]any{"operation": "trim", "text": "--a-b-", "characters": "-"}, `a-b`},
		{map[string]any{"operation": "split", "text": " a  b\nc "}, `["a","b","c"]`},
		{map[string]any{"operation": "split", "text": "a,b,,c", "separator": ","},
			`["a","b","","c"]`},
		{map[string]any{"operation": "split", "text": "äb", "separator": ""}, `["ä","b"]`},
		{map[string]any{"operation": "join", "parts": []string{"a", "b"}, "separator": ", "},
			`a, b`},
		{map[string]any{"operation": "join", "parts": []string{"a", "b"}}, `ab`},
		{map[string]any{"operation": "replace", "text": "a.a", "old": ".", "replacement": "$1"},
			`a$1a`},
		{map[string]any{"operation": "regex_match", "text": "äa1 b22", "pattern": `([a-z])(\d+)`},
			`[{"text":"a1","start":1,"groups":["a","1"]},{"text":"b22","start":4,"groups":["b","22"]}]`},
		{map[string]any{"operation": "regex_match", "text": "b", "pattern": `(a)?b`},
			`[{"text":"b","start":0,"groups":[""]}]`},
		{map[string]any{"operation": "regex_match", "text": "b", "pattern": `x`}, `[]`},
		{map[string]any{"operation": "regex_replace", "text": "Ann Lee, Bo Ray",
			"pattern": `(?P<f>\w+) (\w+)`, "replacement": "$2 ${f}"}, `Lee Ann, Ray Bo`},
		{map[string]any{"operation": "regex_replace", "text": "abc", "pattern": ``,
			"replacement": "-"}, `-a-b-c-`},
		{map[string]any{"operation": "count", "text": "ä b\nc\n"},
			`{"characters":6,"bytes":7,"words":3,"lines":2}`},
		{map[string]any{"operation": "count", "text": "a\nb"},
			`{"characters":3,"bytes":3,"words":2,"lines":2}`},
		{map[string]any{"operation": "substring", "text": "häßlich", "start": 1, "length": 2},
			`äß`},
		{map[string]any{"operation": "substring", "text": "häßlich", "start": -3}, `ich`},
		{map[string]any{"operation": "substring", "text": "abc", "start": -10, "length": 1}, `a`},
		{map[string]any{"operation": "substring", "text": "abc", "start": 10, "length": 1000000},
			``},
		{map[string]any{"operation": "substring", "text": "abc", "length": 0}, ``},
		{map[string]any{"operation": "reverse", "text": "abc"}, `cba`},
		{map[string]any{"operation": "reverse", "text": "ae\u0301o"}, "oe\u0301a"},
		{map[string]any{"operation": "reverse", "text": "a👩‍👧b👍🏽"}, "👍🏽b👩‍👧a"},
		{map[string]any{"operation": "base64_encode", "text": "hä?>"}, `aMOkPz4=`},
		{map[string]any{"operation": "base64_decode", "text": "aMOkPz4="}, `hä?>`},
		{map[string]any{"operation": "base64_decode", "text": "aMOk\nPz4"}, `hä?>`},
		{map[string]any{"operation": "sha256", "text": "abc"},
			`ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad`},
		{map[string]any{"operation": "slug", "text": "  Hello, Wörld!  № 5 -- x_y "},
			`hello-wörld-5-x-y`},
	}
	for _, c := range cases {
		out, _, e := outputOf[stringOutput](t, Config{}, "string", c.args)
		got := jsonvalue.Text(out.Result)
		if e != nil || !sameJSON(got, c.want) {
			t.Errorf("%v: got %s, %v; want %s", c.args, got, e, c.want)
		}
	}
}

// sameJSON compares texts, as JSON values if both are JSON.
func sameJSON(a, b string) bool {
	x, errX := jsonvalue.Decode([]byte(a))
	y, errY := jsonvalue.Decode([]byte(b))
	if errX != nil || errY != nil {
		return a == b
	}
	return jsonvalue.Text(x) == jsonvalue.Text(y)
}

func TestString_RejectsWrongArgumentsAndUnboundedResults(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	cases := []struct {
		args    map[string]any
		failure api.ErrorType
		want    string
	}{
		{map[string]any{"operation": "rot13"}, api.ErrValidation, "$.operation"},
		{map[string]any{"operation": "replace", "text": "a", "replacement": "b"}, api.ErrValidation,
			"$.old"},
		{map[string]any{"operation": "replace", "text": long, "old": "a",
			"replacement": "bbbbbbbbbbbbbbb"}, api.ErrExecution, "more than 1048576 bytes"},
		{map[string]any{"operation": "regex_match", "text": "a", "pattern": "("}, api.ErrValidation,
			"$.pattern"},
		{map[string]any{"operation": "regex_match", "text": long, "pattern": "a"}, api.ErrExecution,
			"10000 parts"},
		{map[string]any{"operation": "regex_replace", "text": "a", "pattern": "(?=a)"},
			api.ErrValidation, "RE2"},
		{map[string]any{"operation": "regex_replace", "text": long, "pattern": ".*",
			"replacement": strings.Repeat("$0", 20)}, api.ErrExecution, "more than 1048576 bytes"},
		{map[string]any{"operation": "split", "text": long, "separator": "a"}, api.ErrExecution,
			"10000 parts"},
		{map[string]any{"operation": "join", "parts": []string{long, long},
			"separator": strings.Repeat(long, 10)}, api.ErrExecution, "more than 1048576 bytes"},
		{map[string]any{"operation": "substring", "text": "a", "length": -1}, api.ErrValidation,
			"$.length"},
		{map[string]any{"operation": "base64_decode", "text": "a*"}, api.ErrValidation, "$.text"},
		{map[string]any{"operation": "base64_decode", "text": "/w=="}, api.ErrExecution,
			"not text in UTF-8"},
	}
	for _, c := range cases {
		if _, _, e := outputOf[stringOutput](t, Config{}, "string", c.args); !refusedWith(e,
			c.failure, c.want) {
			t.Errorf("%v: got %v; want %s with %s", c.args["operation"], e, c.failure, c.want)
		}
	}
}

func TestString_MatchesInLinearTime(t *testing.T) {
	args := map[string]any{"operation": "regex_match", "text": strings.Repeat("a", 50_000) + "!",
		"pattern": `^(a+)+$`}
	if out, _, e := outputOf[stringOutput](t, Config{}, "string", args); e != nil ||
		jsonvalue.Text(out.Result) != "[]" {
		t.Errorf("got %v, %v", out, e)
	}
}
