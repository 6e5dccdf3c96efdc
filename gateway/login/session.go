package login

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/access"
)

// Names of cookies.
const (
	sessionCookie = "switchyard_session"
	flowCookie    = "switchyard_login"
)

// maxCookie bounds a sealed cookie: browsers drop larger ones.
const maxCookie = 3800

// sealer encrypts and authenticates cookies.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (sealer, error) {
	derived, err := hkdf.Key(sha256.New, key, nil, "switchyard console cookies 1", 32)
	if err != nil {
		return sealer{}, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// seal returns value as the text of the cookie of that name.
func (s sealer) seal(name string, value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, data, []byte(name))), nil
}

// open reads the text of a cookie of that name into value, and reports whether seal has made it.
func (s sealer) open(name, text string, value any) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	data, err := s.aead.Open(nil, nil, sealed, []byte(name))
	return err == nil && json.Unmarshal(data, value) == nil
}

// session is what the cookie of a session contains. Roles are left out: they follow from
// gateway.yaml with every request.
type session struct {
	ID       string          `json:"n"`
	Identity access.Identity `json:"i"`
	Issuer   string          `json:"s,omitempty"`
	Began    time.Time       `json:"b"`
	Until    time.Time       `json:"u"`
	CSRF     string          `json:"x"`
}

// Why a request has no session.
var (
	errNoSession = errors.New("no_session")
	errTampered  = errors.New("invalid_cookie")
	errExpired   = errors.New("session_expired")
	errEnded     = errors.New("session_ended")
)

// session returns the session of a request. Where nobody logs in, the first request begins one,
// which is then fresh.
func (l *Login) session(w http.ResponseWriter, r *http.Request) (s session, fresh bool, err error) {
	s, err = l.read(r)
	if err == nil || l.config.Local == "" {
		return s, false, err
	}
	s, err = l.start(w, r, access.Identity{ID: l.config.Local, Method: api.AuthLoopback})
	return s, true, err
}

// read returns the session of the request's cookie.
func (l *Login) read(r *http.Request) (s session, err error) {
	cookie, err := r.Cookie(cookieName(r, sessionCookie))
	if err != nil {
		return s, errNoSession
	}
	if !l.seal.open(sessionCookie, cookie.Value, &s) {
		return s, errTampered
	}
	return s, l.check(&s)
}

// check completes a session with the present roles of its identity. The error says why the session
// is over.
func (l *Login) check(s *session) (err error) {
	switch {
	case !l.config.now().Before(s.Until):
		return errExpired
	case l.left.has(s.ID) || l.ended.covers(s):
		return errEnded
	case s.Identity.Method == api.AuthOIDC && s.Issuer != l.settings.Issuer,
		s.Identity.Method == api.AuthLoopback && s.Identity.ID != l.config.Local:
		return errEnded
	}
	if s.Identity, err = l.config.Access.Current(s.Identity); err != nil {
		return errEnded
	}
	return nil
}

// errTooLarge says that the claims of an identity fit no cookie.
var errTooLarge = errors.New("claims_too_large")

// start begins a session of an identity.
func (l *Login) start(w http.ResponseWriter, r *http.Request, p access.Identity) (session, error) {
	now := l.config.now()
	s := session{ID: rand.Text(), Identity: p, Issuer: l.settings.Issuer, Began: now,
		Until: now.Add(l.settings.Session), CSRF: rand.Text()}
	s.Identity.Roles, s.Identity.Scopes = nil, nil
	if p.Method == api.AuthKey {
		s.Identity.Claims = nil // they are read from the file of keys
	}
	if err := l.setCookie(w, r, sessionCookie, s, l.settings.Session); err != nil {
		return s, err
	}
	return s, l.check(&s)
}

// principal is who has the session.
func (s session) principal() Principal {
	return Principal{Name: s.Identity.ID, Auth: s.Identity.Method, Roles: s.Identity.Roles,
		Claims: s.Identity.Claims, CSRF: s.CSRF}
}

// carriesCSRF reports whether a request has the token of the session, in a form or a header.
func (s session) carriesCSRF(r *http.Request) bool {
	token := r.Header.Get("X-CSRF-Token")
	if token == "" {
		token = r.PostFormValue("csrf")
	}
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.CSRF)) == 1
}

// cookieName returns the name of a cookie. With the prefix, browsers accept it from this host alone
// and over TLS alone.
func cookieName(r *http.Request, name string) string {
	if access.LocalHost(r) {
		return name
	}
	return "__Host-" + name
}

func (l *Login) setCookie(w http.ResponseWriter, r *http.Request, name string, value any,
	lasts time.Duration) error {
	text, err := l.seal.seal(name, value)
	if err != nil {
		return err
	}
	if len(text) > maxCookie {
		return errTooLarge
	}
	http.SetCookie(w, cookie(r, name, text, int(lasts.Seconds())))
	return nil
}

func (l *Login) dropCookie(w http.ResponseWriter, r *http.Request, name string) {
	http.SetCookie(w, cookie(r, name, "", -1))
}

// cookie returns a cookie that scripts cannot read and that other sites do not send, except with a
// link to the console: the provider's answer is one.
func cookie(r *http.Request, name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: cookieName(r, name), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: !access.LocalHost(r), SameSite: http.SameSiteLaxMode}
}
