package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionID is what an Mcp-Session-Id contains: what a replica has to know to continue a session
// that another one began. It is no proof of anything; the caller is authenticated with each request
// and is part of the id of the session's run.
type sessionID struct {
	Key string `json:"k"`
	// Caller is the digest of the caller's identity.
	Caller     string                `json:"c"`
	Initialize *mcp.InitializeParams `json:"i"`
}

// maxSessionID bounds an Mcp-Session-Id, in bytes. It is a header of every request.
const maxSessionID = 6 << 10

// mintSessionID returns the id of a new session. Capabilities that make it too long are left out.
func mintSessionID(caller string, p *mcp.InitializeParams) (string, error) {
	id := sessionID{Key: rand.Text(), Caller: callerDigest(caller), Initialize: p}
	for _, reduced := range []*mcp.InitializeParams{p, {ProtocolVersion: p.ProtocolVersion,
		Capabilities: &mcp.ClientCapabilities{}, ClientInfo: &mcp.Implementation{}}} {
		id.Initialize = reduced
		data, err := json.Marshal(id)
		if err != nil {
			return "", err
		}
		if text := base64.RawURLEncoding.EncodeToString(data); len(text) <= maxSessionID {
			return text, nil
		}
	}
	return "", errors.New("the protocol version is too long")
}

// parseSessionID returns the content of an Mcp-Session-Id of the caller.
func parseSessionID(text, caller string) (sessionID, bool) {
	var id sessionID
	if len(text) > maxSessionID {
		return id, false
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &id) != nil {
		return id, false
	}
	return id, sessionKey.MatchString(id.Key) && id.Caller == callerDigest(caller) &&
		id.Initialize != nil
}

func callerDigest(caller string) string {
	sum := sha256.Sum256([]byte(caller))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}
