package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// stateFor is how long a client may take to answer a question.
const stateFor = 24 * time.Hour

// askState is what a client returns with the answers to a question: the call that waits, and for
// which request of whom. A session accepts one answer to a question, so that a state that is sent
// again has no effect.
type askState struct {
	Session string `json:"s"`
	Call    string `json:"c"`
	// Execution is the one that makes the call.
	Execution string `json:"x"`
	// Ask is the id of the question, or the digest of the call to approve.
	Ask string `json:"a"`
	// Caller and Request are digests of the caller's identity, and of the tool and its arguments.
	Caller  string    `json:"p"`
	Request string    `json:"r"`
	Until   time.Time `json:"u"`
}

// signer protects states against changes by clients.
type signer struct{ key []byte }

func (s signer) sum(data []byte) []byte {
	m := hmac.New(sha256.New, s.key)
	_, _ = m.Write(data) // a hash returns no errors
	return m.Sum(nil)
}

// sign returns the text of a state.
func (s signer) sign(state askState) (string, error) {
	data, err := json.Marshal(state)
	if err != nil {
		return "", err
	}
	e := base64.RawURLEncoding
	return e.EncodeToString(data) + "." + e.EncodeToString(s.sum(data)), nil
}

// read returns the state of a text that sign returned, if it is for that request and not too old.
func (s signer) read(text, caller, request string, now time.Time) (askState, bool) {
	var state askState
	body, mac, _ := strings.Cut(text, ".")
	data, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return state, false
	}
	sum, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || !hmac.Equal(sum, s.sum(data)) || json.Unmarshal(data, &state) != nil {
		return state, false
	}
	return state, state.Caller == callerDigest(caller) && state.Request == request &&
		now.Before(state.Until)
}
