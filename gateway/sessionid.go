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

// mintSessionID returns the id of a new session, and the parameters that it has: what makes it too
// long is left out.
func mintSessionID(caller string, p *mcp.InitializeParams) (text string,
	reduced *mcp.InitializeParams, err error) {
	id := sessionID{Key: rand.Text(), Caller: callerDigest(caller)}
	for _, id.Initialize = range []*mcp.InitializeParams{p, withoutExtras(p),
		{ProtocolVersion: p.ProtocolVersion, Capabilities: &mcp.ClientCapabilities{},
			ClientInfo: &mcp.Implementation{}}} {
		data, err := json.Marshal(id)
		if err != nil {
			return "", nil, err
		}
		if text := base64.RawURLEncoding.EncodeToString(data); len(text) <= maxSessionID {
			return text, id.Initialize, nil
		}
	}
	return "", nil, errors.New("the protocol version is too long")
}

// withoutExtras returns parameters without what can be large and changes nothing here: names of
// experiments, and icons.
func withoutExtras(p *mcp.InitializeParams) *mcp.InitializeParams {
	reduced := &mcp.InitializeParams{ProtocolVersion: p.ProtocolVersion,
		Capabilities: &mcp.ClientCapabilities{}, ClientInfo: &mcp.Implementation{}}
	if c := p.Capabilities; c != nil {
		reduced.Capabilities.Elicitation = c.Elicitation
	}
	if c := p.ClientInfo; c != nil {
		reduced.ClientInfo.Name, reduced.ClientInfo.Version = c.Name, c.Version
	}
	return reduced
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
