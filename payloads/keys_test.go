package payloads

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

func TestLoadKeys_ReportsEveryFaultAndNoKey(t *testing.T) {
	key := NewKey()
	t.Setenv("GOOD", key)
	t.Setenv("SHORT", base64.StdEncoding.EncodeToString([]byte("0123456789abcdef")))
	t.Setenv("NO_BASE64", "hunter2 hunter2")
	cases := []struct{ name, text, want string }{
		{"empty", "{}", "k.yaml:1:1: active is missing (write active: ID and keys: {ID: file:/path or env:NAME}; make a key: head -c 32 /dev/urandom | base64)\nk.yaml:1:1: keys is missing (write active: ID and keys: {ID: file:/path or env:NAME}; make a key: head -c 32 /dev/urandom | base64)"},
		{"no such key", "active: k3\nkeys: {k1: env:GOOD, k2: env:GOOD}",
			`k.yaml:1:9: there is no key "k3" (known: k1, k2)`},
		{"the key itself", "active: k1\nkeys: {k1: " + key + "}",
			"k.yaml:2:12: this is not a reference to a secret (write env:NAME or file:/path: the name of the secret, never its value)"},
		{"not set", "active: k1\nkeys: {k1: env:NOT_SET_ANYWHERE}",
			"k.yaml:2:12: the secret env:NOT_SET_ANYWHERE is not set (make a key: head -c 32 /dev/urandom | base64)"},
		{"too short", "active: k1\nkeys: {k1: env:SHORT}",
			"k.yaml:2:12: env:SHORT has 16 bytes in base64; a key has 32 (make a key: head -c 32 /dev/urandom | base64)"},
		{"no base64", "active: k1\nkeys: {k1: env:NO_BASE64}",
			"k.yaml:2:12: what env:NO_BASE64 holds is not base64; a key is 32 bytes in base64 (make a key: head -c 32 /dev/urandom | base64)"},
		{"a file that is the key", key, `k.yaml:1:1: this must be a mapping, not the text "…" (write active: ID and keys: {ID: file:/path or env:NAME}; make a key: head -c 32 /dev/urandom | base64)`},
		{"keys that are the key", "active: k1\nkeys: " + key,
			"k.yaml:1:9: there is no key \"k1\" (name one of keys, or none to stop encrypting)\nk.yaml:2:7: this must be a mapping, not the text \"…\" (write active: ID and keys: {ID: file:/path or env:NAME}; make a key: head -c 32 /dev/urandom | base64)"},
		{"an active that is the key", "active: " + key + "\nkeys: {k1: env:GOOD}",
			`k.yaml:1:9: there is no key "…" (known: k1)`},
		{"no file", "active: k1\nkeys: {k1: file:/no/such/key}",
			"k.yaml:2:12: the secret file:/no/such/key cannot be read: no such file or directory (make a key: head -c 32 /dev/urandom | base64)"},
		{"none of them", "active: k1\nkeys: {}", `k.yaml:1:9: there is no key "k1" (name one of keys, or none to stop encrypting)`},
		{"names", "active: a\nkeys: {a: env:GOOD, none: env:GOOD, 'b c': env:GOOD}",
			"k.yaml:2:21: this is not a valid key ID (use up to 64 letters, digits, dots, dashes and underscores; not the word none)\nk.yaml:2:37: this is not a valid key ID (use up to 64 letters, digits, dots, dashes and underscores; not the word none)"},
		{"unknown field", "active: a\nkeys: {a: env:GOOD}\nrotate: true",
			`k.yaml:3:1: unknown field "rotate" (known: active, keys)`},
		{"twice", "active: a\nkeys: {a: env:GOOD, a: env:GOOD}", `k.yaml:2:21: "a" is given twice; the first is in line 2 (remove one)`},
	}
	for _, c := range cases {
		k, err := decodeKeys("k.yaml", []byte(c.text))
		if err == nil || k != nil || err.Error() != c.want {
			t.Errorf("%s: got\n%v\nwant\n%s", c.name, err, c.want)
			continue
		}
		for _, secret := range []string{key[:8], "hunter2"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the fault holds the key: %v", c.name, err)
			}
		}
	}
}

func TestKeys_ReadOldPayloadsAfterRotation(t *testing.T) {
	load := func(text string) *Keys {
		k, err := loadKeys(writeFile(t, "keys.yaml", text))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	sealed := load(keysText(t, "k1", "k1")).seal([]byte("text"))
	for _, active := range []string{"k1", "k2", noKey} {
		k := load(keysText(t, active, "k1", "k2"))
		if plain, err := k.open("k1", sealed); err != nil || string(plain) != "text" ||
			k.encrypts() != (active != noKey) {
			t.Errorf("%s: got %q, %v", active, plain, err)
		}
	}
	for _, c := range []struct {
		keys *Keys
		id   string
		want string
	}{
		{nil, "k1", `it is encrypted with the key "k1" and no keys are configured; set --payload-keys FILE or SWITCHYARD_PAYLOAD_KEYS`},
		{load(keysText(t, "k2", "k2", "k4")), "k1",
			`it is encrypted with the key "k1", which is not in FILE (k2, k4); add it again`},
		{load(keysText(t, "k2", "k1", "k2")), "k2",
			`decryption with the key "k2" of FILE failed: the payload was encrypted with another key or altered`},
	} {
		_, err := c.keys.open(c.id, sealed)
		want := errPayload.Error() + ": " + c.want
		if c.keys != nil {
			want = strings.Replace(want, "FILE", c.keys.file, 1)
		}
		if !errors.Is(err, errPayload) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
