package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	_ "image/gif" // the formats that models see
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"
	"path/filepath"
)

// maxStored bounds what Stored returns, in bytes: models are shown no larger image.
const maxStored = 3 << 20

// ReadStored returns the bytes that an answer stored in a file on this worker, by their SHA-256 in
// hexadecimal and their type. It returns an error if there is no such file or its content differs.
func (m *Executor) ReadStored(digest, mimeType string) ([]byte, error) {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
		return nil, errors.New("the digest of the stored bytes is none")
	}
	f, err := os.Open(filepath.Join(m.Options.Files, digest[:2], digest+extensions[mimeType]))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxStored+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
		return nil, errors.New("the stored bytes are not those that were stored")
	}
	return data, nil
}
