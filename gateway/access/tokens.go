package access

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

const (
	// maxToken bounds a token, maxClaims the claims that are passed on, as JSON, and maxPrincipal
	// the id of a principal, in bytes.
	maxToken     = 16 << 10
	maxClaims    = 8 << 10
	maxPrincipal = 200
)

// signatures are the algorithms that tokens may be signed with. All are asymmetric: a
// key of a key set must not verify a token that was signed with the text of that key.
var signatures = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// issuer verifies the tokens of one issuer.
type issuer struct {
	issuerFile
	keys     *keySet
	verifier *oidc.IDTokenVerifier
	now      func() time.Time
}

func newIssuer(f issuerFile, o Options) *issuer {
	skew := f.ClockSkew.Std()
	keys := newKeySet(f.Issuer, f.JWKSURL, o)
	return &issuer{issuerFile: f, keys: keys, now: o.now,
		verifier: oidc.NewVerifier(f.Issuer, keys, &oidc.Config{
			SkipClientIDCheck:    true, // which tokenPrincipal checks, for more than one audience
			SupportedSigningAlgs: signatures,
			Now:                  func() time.Time { return o.now().Add(-skew) },
		})}
}

// claims are what Switchyard reads of a token.
type claims map[string]any

// tokenPrincipal verifies a token and returns whose it is. Errors are refusals, except where the
// keys of the issuer cannot be fetched.
func (a *rules) tokenPrincipal(ctx context.Context, token string, route routes.Route) (Identity,
	error) {
	name, err := readIssuer(token)
	if err != nil {
		return Identity{}, err
	}
	i := slices.IndexFunc(a.issuers, func(i *issuer) bool { return i.Issuer == name })
	if i < 0 {
		return Identity{}, refuseCredential("the token's issuer is not trusted")
	}
	return a.issuers[i].principal(ctx, token, a.settings, route)
}

// readIssuer returns the issuer that a token claims to be from, before anything is verified.
func readIssuer(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 {
		return "", refuseCredential("the token is neither an API key nor a signed token")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claimed struct {
		Issuer string `json:"iss"`
	}
	if err != nil || json.Unmarshal(payload, &claimed) != nil {
		return "", refuseCredential("the token is neither an API key nor a signed token")
	}
	return claimed.Issuer, nil
}

func (i *issuer) principal(ctx context.Context, token string, s *Settings,
	route routes.Route) (Identity, error) {
	_, all, err := i.verify(ctx, token, i.audiences(s, route))
	if err != nil {
		return Identity{}, err
	}
	return i.identity(all, s, api.AuthToken)
}

// verify verifies a token that was issued for one of the audiences, and returns its claims.
func (i *issuer) verify(ctx context.Context, token string, audiences []string) (*oidc.IDToken,
	claims, error) {
	var unavailable error
	ctx = context.WithValue(ctx, unavailableKey{}, &unavailable)
	verified, err := i.verifier.Verify(ctx, token)
	if unavailable != nil {
		return nil, nil, fmt.Errorf("the keys of %s cannot be fetched: %w", i.Issuer, unavailable)
	}
	if err != nil {
		return nil, nil, refusedToken(err)
	}
	if !slices.ContainsFunc(verified.Audience, func(audience string) bool {
		return slices.Contains(audiences, audience)
	}) {
		return nil, nil, refuseCredential("the token is for another audience")
	}
	all, err := decodeClaims(verified)
	if err == nil {
		err = i.checkTimes(all)
	}
	return verified, all, err
}

// identity returns whose the claims of a verified token are.
func (i *issuer) identity(all claims, s *Settings, method api.AuthMethod) (Identity, error) {
	id, _ := all[i.principalClaim()].(string)
	p := Identity{ID: i.Prefix + id, Method: method, Scopes: all.scopes(),
		Claims: all.chosen(s.claims)}
	p.Roles = s.findRoles(p)
	return p, p.check(id, i.principalClaim())
}

// refusedToken is the answer to a token that was not verified.
func refusedToken(err error) error {
	if _, expired := errors.AsType[*oidc.TokenExpiredError](err); expired {
		return refuseCredential("the token is expired")
	}
	return refuseCredential("the token is not valid: its signature, algorithm, key or issuer is wrong")
}

// audiences are what a token for a route may be issued for.
func (i *issuer) audiences(s *Settings, route routes.Route) []string {
	if len(i.Audience) > 0 {
		return i.Audience
	}
	accepted := []string{s.address(), s.address() + "/", s.resource(route)}
	if route.Kind == routes.Server {
		accepted = append(accepted, s.resource(mainServer))
	}
	return accepted
}

func (i *issuer) principalClaim() string {
	if i.Principal == "" {
		return "sub"
	}
	return i.Principal
}

// decodeClaims returns the claims of a verified token. Numbers stay as they are written.
func decodeClaims(t *oidc.IDToken) (claims, error) {
	var raw json.RawMessage
	if err := t.Claims(&raw); err != nil {
		return nil, refuseCredential("the claims of the token cannot be read")
	}
	decoded, err := jsonvalue.Decode(bytes.TrimSpace(raw))
	all, ok := decoded.(map[string]any)
	if err != nil || !ok {
		return nil, refuseCredential("the claims of the token cannot be read")
	}
	return all, nil
}

// checkTimes checks the times that the verifier does not, or less strictly.
func (i *issuer) checkTimes(all claims) error {
	latest := i.now().Add(i.ClockSkew.Std())
	for _, name := range []string{"nbf", "iat"} {
		number, given := all[name].(json.Number)
		seconds, err := number.Float64()
		if given && (err != nil || time.Unix(int64(seconds), 0).After(latest)) {
			return refuseCredential("the token is not valid yet")
		}
	}
	return nil
}

// scopes returns the scopes of a token: words of the claim scope, or the claim scp.
func (c claims) scopes() []string {
	for _, name := range []string{"scope", "scp"} {
		switch value := c[name].(type) {
		case string:
			return strings.Fields(value)
		case []any:
			var scopes []string
			for _, v := range value {
				if s, ok := v.(string); ok {
					scopes = append(scopes, s)
				}
			}
			return scopes
		}
	}
	return nil
}

// chosen returns the claims with the given names.
func (c claims) chosen(names []string) map[string]any {
	chosen := maps.Clone(map[string]any(c))
	maps.DeleteFunc(chosen, func(name string, _ any) bool { return !slices.Contains(names, name) })
	if len(chosen) == 0 {
		return nil
	}
	return chosen
}

// check refuses identities that cannot be recorded, or that look like those of another method. id
// is the value of the claim.
func (p Identity) check(id, claim string) error {
	switch {
	case id == "" || len(p.ID) > maxPrincipal || strings.ContainsFunc(p.ID, func(r rune) bool {
		return !unicode.IsPrint(r)
	}):
		return refuseCredential("the claim %s of the token does not identify its owner", claim)
	case p.ID == localIdentity.ID || strings.HasPrefix(p.ID, keyPrincipal):
		return refuseCredential("the claim %s of the token is a reserved name", claim)
	}
	data, err := json.Marshal(p.Claims)
	if err != nil || len(data) > maxClaims {
		return &refusal{status: 403, code: "claims_too_large", message: fmt.Sprintf(
			"the claims that access.claims selects have more than %d bytes", maxClaims)}
	}
	return nil
}
