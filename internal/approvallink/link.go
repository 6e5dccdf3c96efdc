// Package approvallink signs and reads the links with which notices of approvals ask for a
// decision. Workers sign them, and gateways read them, with a key that both have.
package approvallink

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
)

// Path is where gateways serve links; the token of a link follows.
const Path = "/console/link/"

const (
	// MaxAge bounds how long a link can be used.
	MaxAge = 7 * 24 * time.Hour
	// leastKey is the minimum length of a key, maxToken the maximum length of a token.
	leastKey = 16
	maxToken = 8 << 10
)

// Link is a link to a decision about one call. The digest binds it to exactly that call, and the
// run takes one decision about it.
type Link struct {
	WorkflowID string           `json:"w"`
	Call       string           `json:"c"`
	Digest     string           `json:"d"`
	Decision   api.DecisionKind `json:"k"`
	// To is to whom the link was sent, as far as the worker knows.
	To string `json:"t"`
	// Until is when the link expires, in seconds since 1970.
	Until int64 `json:"u"`
}

// Key signs links.
type Key struct{ mac []byte }

// ReadKey returns the key of a reference, env:NAME or file:/path. The error does not have the key.
func ReadKey(reference string) (Key, error) {
	secret, err := outbound.SecretText(reference)
	if err != nil {
		return Key{}, err
	}
	if len(secret) < leastKey {
		return Key{}, fmt.Errorf("the key has %d characters; use %d or more", len(secret), leastKey)
	}
	mac, err := hkdf.Key(sha256.New, []byte(secret), nil, "switchyard approval links 1", 32)
	return Key{mac}, err
}

func (k Key) sum(data []byte) []byte {
	m := hmac.New(sha256.New, k.mac)
	_, _ = m.Write(data) // a hash returns no errors
	return m.Sum(nil)
}

// Token returns the token of a link.
func (k Key) Token(l Link) (string, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	e := base64.RawURLEncoding
	return e.EncodeToString(data) + "." + e.EncodeToString(k.sum(data)), nil
}

// Errors of Read.
var (
	// errForged says that no worker with this key has signed the token.
	errForged = errors.New("the link is not valid")
	// ErrExpired says that the link's time is over.
	ErrExpired = errors.New("the link has expired")
)

// Read returns the link of a token. The error is ErrExpired, or says that
// the token is not valid.
func (k Key) Read(token string, now time.Time) (l Link, err error) {
	body, mac, _ := strings.Cut(token, ".")
	data, bodyErr := base64.RawURLEncoding.Strict().DecodeString(body)
	sum, macErr := base64.RawURLEncoding.Strict().DecodeString(mac)
	signed := len(token) <= maxToken && !strings.ContainsAny(token, "\r\n") && bodyErr == nil && macErr == nil &&
		hmac.Equal(sum, k.sum(data)) && json.Unmarshal(data, &l) == nil
	switch {
	case !signed:
		return Link{}, errForged
	case now.Unix() >= l.Until:
		return l, ErrExpired
	}
	return l, nil
}

// By is the identity of whoever decides with the link.
func (l Link) By() string { return "link:" + l.To }
