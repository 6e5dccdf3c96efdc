package approvallink

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

func keyOf(t *testing.T, secret string) Key {
	t.Helper()
	t.Setenv("LINK_KEY", secret)
	k, err := ReadKey("env:LINK_KEY")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Only what a worker with the same key has signed is a link, and only for its time.
func TestRead_RefusesForgedAndExpiredLinks(t *testing.T) {
	k, other := keyOf(t, "planted-key-of-16"), keyOf(t, "another-key-of-16")
	now := time.Unix(1_000, 0)
	link := Link{WorkflowID: "run", Call: "1.1", Digest: "d", Decision: api.DecisionDeny,
		To: "hooks.example.com", Until: 2_000}
	token, err := k.Token(link)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.Read(token, now); err != nil || got != link || got.By() !=
		"link:hooks.example.com" {
		t.Errorf("got %+v, %v", got, err)
	}
	approve := link
	approve.Decision = api.DecisionApprove
	changed, err := other.Token(approve)
	if err != nil {
		t.Fatal(err)
	}
	body, _, _ := strings.Cut(changed, ".")
	_, mac, _ := strings.Cut(token, ".")
	for _, tt := range []struct {
		token string
		at    time.Time
		want  error
	}{
		{changed, now, errForged},
		{body + "." + mac, now, errForged},
		{body, now, errForged},
		{body + ".", now, errForged},
		{"", now, errForged},
		{token + "A", now, errForged},
		{token[:5] + "\n" + token[5:], now, errForged}, // Go's base64 ignores line ends
		{token + "\r\n", now, errForged},
		{token + strings.Repeat("A", maxToken), now, errForged},
		{token, time.Unix(2_000, 0), ErrExpired},
	} {
		if _, err := k.Read(tt.token, tt.at); !errors.Is(err, tt.want) {
			t.Errorf("%.40s at %s: %v, want %v", tt.token, tt.at, err, tt.want)
		}
	}
}

func TestReadKey_RefusesShortKeys(t *testing.T) {
	t.Setenv("LINK_KEY", "short")
	const want = "the key has 5 characters; use 16 or more"
	if _, err := ReadKey("env:LINK_KEY"); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
