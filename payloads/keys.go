package payloads

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

const (
	// maxKeysBytes bounds the size of a key file.
	maxKeysBytes = 64 << 10
	// keyBytes is the length of a key: AES-256.
	keyBytes = 32
	// noKey as the active key turns encryption off for new payloads. Encrypted ones stay readable.
	noKey = "none"
)

// Keys are the encryption keys: one for writing, any number for reading. A nil Keys has none.
type Keys struct {
	file   string
	active string
	byID   map[string]cipher.AEAD
}

// keysFile is the content of a key file.
type keysFile struct {
	Active string            `yaml:"active" rule:"required"`
	Keys   map[string]string `yaml:"keys" rule:"required"`
}

// keyID bounds IDs to what is readable in a message.
var keyID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// loadKeys reads a key file:
//
//	active: k2
//	keys:
//	  k1: env:SWITCHYARD_KEY_1
//	  k2: file:/etc/switchyard/k2.key
//
// Each key is a reference to 32 bytes in base64. The error is strictyaml.Faults with every fault.
// No message contains a key.
func loadKeys(path string) (*Keys, error) {
	data, err := strictyaml.ReadFile(path, maxKeysBytes)
	if err != nil {
		if faults, ok := errors.AsType[strictyaml.Faults](err); ok {
			for i := range faults {
				faults[i].Hint = cmp.Or(faults[i].Hint,
					"--"+flagKeys+" or SWITCHYARD_PAYLOAD_KEYS names it")
			}
		}
		return nil, err
	}
	return decodeKeys(path, data)
}

const (
	hintKeyFile = "write active: ID and keys: {ID: file:/path or env:NAME}; " + hintKey
	hintKey     = "make a key: head -c 32 /dev/urandom | base64"
)

// longQuote matches quoted text that may be a key. IDs are usually shorter.
var longQuote = regexp.MustCompile(`"[^"]{16,}"`)

// withoutKeys removes from faults text that may be a key, and adds a hint how to write the file.
func withoutKeys(err error) error {
	faults, ok := errors.AsType[strictyaml.Faults](err)
	if !ok {
		return err
	}
	for i := range faults {
		faults[i].Message = longQuote.ReplaceAllString(faults[i].Message, `"…"`)
		faults[i].Hint = cmp.Or(longQuote.ReplaceAllString(faults[i].Hint, `"…"`), hintKeyFile)
	}
	return faults
}

func decodeKeys(file string, data []byte) (*Keys, error) {
	k, err := parseKeys(file, data)
	if err != nil {
		return nil, withoutKeys(err)
	}
	return k, nil
}

func parseKeys(file string, data []byte) (*Keys, error) {
	doc, faults := strictyaml.ParseOne(file, data, maxKeysBytes)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var f keysFile
	doc.Decode(&f)
	k := &Keys{file: file, active: f.Active, byID: map[string]cipher.AEAD{}}
	for _, id := range doc.Keys("$.keys") {
		k.add(doc, id, f.Keys[id])
	}
	if _, ok := k.byID[f.Active]; !ok && f.Active != "" && f.Active != noKey {
		hint := cmp.Or(spelling.Hint(f.Active, k.ids()),
			"name one of keys, or "+noKey+" to stop encrypting")
		doc.Report("$.active", fmt.Sprintf("there is no key %q", f.Active), hint)
	}
	if err := doc.Faults().Err(); err != nil {
		return nil, err
	}
	return k, nil
}

// add reads a key and reports its faults.
func (k *Keys) add(doc *strictyaml.Document, id, ref string) {
	at := jsonpath.Key("$.keys", id)
	if !keyID.MatchString(id) || id == noKey {
		doc.ReportKey(at, "this is not a valid key ID", "use up to 64 letters, digits, dots, dashes "+
			"and underscores; not the word "+noKey)
		return
	}
	aead, fault, hint := readKey(ref)
	if fault != "" {
		doc.Report(at, fault, hint)
	}
	k.byID[id] = aead
}

// readKey returns the cipher of a referenced key, or a fault and a hint.
func readKey(ref string) (aead cipher.AEAD, fault, hint string) {
	if err := outbound.CheckSecret(ref); err != nil {
		return nil, err.Error(), outbound.HintSecret
	}
	text, err := outbound.SecretHere(ref)
	if err != nil {
		return nil, err.Error(), hintKey
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, "what " + ref + " holds is not base64; a key is 32 bytes in base64", hintKey
	}
	if len(key) != keyBytes {
		return nil, fmt.Sprintf("%s has %d bytes in base64; a key has 32", ref, len(key)),
			hintKey
	}
	if aead, err = newAEAD(key); err != nil {
		return nil, err.Error(), ""
	}
	return aead, "", ""
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (k *Keys) ids() []string { return slices.Sorted(maps.Keys(k.byID)) }

// encrypts reports whether new payloads are encrypted.
func (k *Keys) encrypts() bool { return k != nil && k.active != noKey }

// seal encrypts with the active key and authenticates its ID.
func (k *Keys) seal(plain []byte) []byte {
	return k.byID[k.active].Seal(nil, nil, plain, []byte(k.active))
}

// open decrypts data that seal encrypted with the key id.
func (k *Keys) open(id string, sealed []byte) ([]byte, error) {
	if k == nil {
		return nil, fmt.Errorf("%w: it is encrypted with the key %q and no keys are configured; "+
			"set --%s FILE or SWITCHYARD_PAYLOAD_KEYS", errPayload, id, flagKeys)
	}
	aead, ok := k.byID[id]
	if !ok {
		return nil, fmt.Errorf("%w: it is encrypted with the key %q, which is not in %s (%s); "+
			"add it again", errPayload, id, k.file, strings.Join(k.ids(), ", "))
	}
	plain, err := aead.Open(nil, nil, sealed, []byte(id))
	if err != nil {
		return nil, fmt.Errorf("%w: decryption with the key %q of %s failed: the payload was "+
			"encrypted with another key or altered", errPayload, id, k.file)
	}
	return plain, nil
}

// NewKey returns a new key in the form that a key file refers to.
func NewKey() string {
	key := make([]byte, keyBytes)
	rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}

// errPayload is wrapped by every error about an unreadable payload: its key or its blob is missing,
// or it was altered.
var errPayload = errors.New("a payload cannot be read")
