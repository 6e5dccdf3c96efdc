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
		{map[string]any{"operation": "split", "text": long, "separator": "a"}, api.ErrExecution,
			"10000 parts"},
		{map[string]any{"operation": "join", "parts": []string{long, long},
			"separator": strings.Repeat(long, 10)}, api.ErrExecution, "more than 1048576 bytes"},
	}
	for _, c := range cases {
		if _, _, e := outputOf[stringOutput](t, Config{}, "string", c.args); !refusedWith(e,
			c.failure, c.want) {
			t.Errorf("%v: got %v; want %s with %s", c.args["operation"], e, c.failure, c.want)
		}
	}
}
