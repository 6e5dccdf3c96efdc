package redaction

import (
	"encoding/json"
	"slices"
	"testing"
)

// A value of another form than the declared one is redacted completely. Values for hiding are those
// that were redacted.
func TestMask_RedactsSensitivePartsOnly(t *testing.T) {
	all := &Mask{All: true}
	m := &Mask{Keys: map[string]*Mask{"pin": all,
		"cards": {Items: &Mask{Keys: map[string]*Mask{"number": all}}}}}
	for _, c := range []struct {
		mask        *Mask
		value, want string
		values      []string
	}{
		{m, `{"name":"ada","pin":1234,"cards":[{"number":"4111","bank":"x"},{"bank":"y"}]}`,
			`{"cards":[{"bank":"x","number":"***"},{"bank":"y"}],"name":"ada","pin":"***"}`,
			[]string{"4111", "1234"}},
		{m, `{"PIN":{"a":["x",2,true,null]},"cards":"4111 as text"}`, `{"PIN":"***","cards":"***"}`,
			[]string{"x", "2", "4111 as text"}},
		{m, `{"cards":[["4111"],null]}`, `{"cards":["***",null]}`, []string{"4111"}},
		{m, `["4111"]`, `"***"`, []string{"4111"}},
		{m, `"4111"`, `"***"`, []string{"4111"}},
		{m, `null`, `null`, nil},
		{m, `{"pin":`, `"***"`, nil},
		{all, `null`, `"***"`, nil},
		{all, `{"a":{"b":"c"}}`, `"***"`, []string{"c"}},
		{nil, `{ "a": 1 }`, `{ "a": 1 }`, nil},
		{m, ``, ``, nil},
	} {
		if got := string(c.mask.Redact(json.RawMessage(c.value))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.value, got, c.want)
		}
		if got := c.mask.Values(json.RawMessage(c.value)); !slices.Equal(got, c.values) {
			t.Errorf("%s: got values %q, want %q", c.value, got, c.values)
		}
	}
}
