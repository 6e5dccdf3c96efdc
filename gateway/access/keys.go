package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/filelock"
	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/wholefile"
)

const (
	// keyPrefix begins every API key, so that programs that search for secrets can find them.
	keyPrefix = "sygw_"
	// keyPrincipal begins the id of the principal of an API key.
	keyPrincipal = "key:"
)

// Key is an API key as the file of keys has it.
type Key struct {
	Name string `yaml:"name" json:"name" rule:"required" pattern:"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$ this is no name of a key" hint:"use letters, digits and . _ @ -"`
	// Hash is the SHA-256 of the key, in hexadecimal digits. Keys are random, so that a fast hash
	// is enough.
	Hash string `yaml:"hash" json:"hash" rule:"required,secret" pattern:"^[0-9a-f]{64}$ this is not a hash of 64 hexadecimal digits in lower case" hint:"make keys with starter gateway keys add"`
	// Created and Expires are times of RFC 3339. A key without Expires does not expire.
	Created string `yaml:"created" json:"created,omitempty"`
	Expires string `yaml:"expires" json:"expires,omitempty"`
	// Scopes and Claims are those of the key's owner, as of a token; Claims is a JSON object.
	Scopes []string        `yaml:"scopes" json:"scopes,omitempty"`
	Claims json.RawMessage `yaml:"claims" json:"claims,omitempty"`

	// expires and claims are decoded, hash are the bytes.
	expires time.Time
	claims  map[string]any
	hash    []byte
}

// keys is the file of keys.
type keys struct {
	Keys []Key `yaml:"keys"`
}

// keyFile is a watched file of keys.
type keyFile struct{ file *filewatch.File[keys] }

// openKeyFile reads the file of keys at path and watches it until it is closed. While the file is
// missing or invalid, the previous keys stay in effect.
func openKeyFile(path string, log *slog.Logger) (*keyFile, error) {
	file, err := WatchFile(path, "the API keys", log, readFile, decodeKeys)
	return &keyFile{file: file}, err
}

// ReadKeys returns the keys of the file at path; none if there is no file. The error is
// strictyaml.Faults.
func ReadKeys(path string) ([]Key, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	k, err := decodeKeys(path, data)
	if err != nil {
		return nil, err
	}
	return k.Keys, nil
}

func decodeKeys(path string, data []byte) (*keys, error) {
	doc, faults := strictyaml.ParseOne(path, data, maxFileBytes)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	k := &keys{}
	doc.Decode(k)
	if info, err := os.Stat(path); err == nil && info.Mode()&0o022 != 0 {
		doc.Report(jsonpath.Root, "other users of this machine can change the file",
			"chmod 600 "+path)
	}
	var found strictyaml.Findings
	names := map[string]bool{}
	for i := range k.Keys {
		k.Keys[i].decode(&found, jsonpath.Index(jsonpath.Root+".keys", i))
		if name := k.Keys[i].Name; names[name] {
			found.Add(jsonpath.Index(jsonpath.Root+".keys", i)+".name", "remove one",
				"the name %q is given twice", name)
		}
		names[k.Keys[i].Name] = true
	}
	doc.ReportAll(found.All)
	if err := doc.Faults().Err(); err != nil {
		return nil, err
	}
	return k, nil
}

// decode fills what is derived from the fields, and reports their faults.
func (k *Key) decode(found *strictyaml.Findings, at string) {
	var err error
	k.hash, _ = hex.DecodeString(k.Hash) // whose form the schema of the file has checked
	if k.expires, err = time.Parse(time.RFC3339, k.Expires); k.Expires != "" && err != nil {
		found.Add(at+".expires", "write it as 2026-12-31T00:00:00Z", "this is not a time")
	}
	if len(k.Claims) > 0 {
		k.decodeClaims(found, at)
	}
}

func (k *Key) decodeClaims(found *strictyaml.Findings, at string) {
	decoded, err := jsonvalue.Decode(k.Claims)
	claims, ok := decoded.(map[string]any)
	if err != nil || !ok || len(k.Claims) > maxClaims {
		found.Add(at+".claims", "", "the claims must be a mapping of at most %d bytes", maxClaims)
	}
	k.claims = claims
}

// principal returns whose an API key is.
func (f *keyFile) principal(token string, now time.Time) (Identity, error) {
	const unknown = "the API key is not known"
	if f == nil {
		return Identity{}, refuseCredential(unknown)
	}
	hash := sha256.Sum256([]byte(token))
	var found *Key
	list := f.file.Value().Keys
	for i := range list { // all of them, so that the time tells nothing
		if subtle.ConstantTimeCompare(list[i].hash, hash[:]) == 1 {
			found = &list[i]
		}
	}
	switch {
	case found == nil:
		return Identity{}, refuseCredential(unknown)
	case !found.expires.IsZero() && !now.Before(found.expires):
		return Identity{}, refuseCredential("the API key is expired")
	}
	return found.identity(), nil
}

func (k *Key) identity() Identity {
	return Identity{ID: keyPrincipal + k.Name, Method: api.AuthKey, Scopes: k.Scopes,
		Claims: k.claims, Key: k.Hash}
}

// AddKey makes an API key with the name, scopes, claims and expiry of k, and adds its hash to the
// file at path, which it creates if needed. It returns the key, which is kept nowhere else.
func AddKey(path string, k Key, now time.Time) (secret string, err error) {
	unlock, err := filelock.Beside(path)
	if err != nil {
		return "", err
	}
	defer unlock()
	list, err := ReadKeys(path)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(list, func(other Key) bool { return other.Name == k.Name }) {
		return "", fmt.Errorf("%s has a key %q already: choose another name, or revoke that key",
			path, k.Name)
	}
	secret = keyPrefix + rand.Text()
	hash := sha256.Sum256([]byte(secret))
	k.Hash, k.Created = hex.EncodeToString(hash[:]), now.UTC().Format(time.RFC3339)
	return secret, writeKeys(path, append(list, k))
}

// RevokeKey removes the API key of a name from the file at path.
func RevokeKey(path, name string) error {
	unlock, err := filelock.Beside(path)
	if err != nil {
		return err
	}
	defer unlock()
	list, err := ReadKeys(path)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(list), func(k Key) bool { return k.Name == name })
	if len(left) == len(list) {
		return fmt.Errorf("%s has no key %q", path, name)
	}
	return writeKeys(path, left)
}

// writeKeys replaces the file at once, so that a gateway never reads a part of it.
func writeKeys(path string, list []Key) error {
	data, err := EncodeList("API keys of the gateway, as hashes: starter gateway keys "+
		"add|list|revoke.", "keys", list)
	if err != nil {
		return err
	}
	if _, err := decodeKeys(path, data); err != nil {
		return err
	}
	return wholefile.Write(path, data, 0o600)
}
