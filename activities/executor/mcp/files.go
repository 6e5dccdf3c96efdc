package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/switchyard/switchyard/internal/wholefile"
)

// storedFile locates bytes that are too large for a result.
type storedFile struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Path is the file on the worker that executed the call.
	Path string `json:"path,omitempty"`
	// Problem is why the bytes could not be stored.
	Problem string `json:"problem,omitempty"`
}

func (f *storedFile) String() string {
	place := f.Path
	if f.Problem != "" {
		place = f.Problem
	}
	return fmt.Sprintf("%d bytes, SHA-256 %s, %s", f.Bytes, f.SHA256, place)
}

// defaultFiles is the user's own folder in the system's temporary folder.
func defaultFiles() string {
	return filepath.Join(os.TempDir(), "switchyard-"+strconv.Itoa(os.Getuid()), "files")
}

// extensions are the file extensions by content type.
var extensions = map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif",
	"image/webp": ".webp", "image/svg+xml": ".svg",
	"audio/wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "application/pdf": ".pdf",
	"application/json": ".json", "text/plain": ".txt"}

// store writes bytes to a file named by their digest. It reports a failure in the answer and not as
// an error, because the tool has already run.
func (m *Executor) store(data []byte, mimeType string) storedFile {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	f := storedFile{Bytes: len(data), SHA256: digest}
	dir := filepath.Join(m.Options.Files, digest[:2])
	path := filepath.Join(dir, digest+extensions[mimeType])
	if err := writeOnce(dir, path, data); err != nil {
		f.Problem = "they could not be kept: " + err.Error()
		return f
	}
	f.Path = path
	return f
}

// writeOnce atomically writes a file that only this user can read, unless it exists. The folder
// must belong to this user: in a shared temporary folder another user could have created it.
func writeOnce(dir, path string, data []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := ownFolder(filepath.Dir(dir)); err != nil {
		return err
	}
	if there, err := hasFile(path, len(data)); there || err != nil {
		return err
	}
	return wholefile.Write(path, data, 0o600)
}

// hasFile reports whether there is a file of that size. Its name is a digest, so the content is not
// compared.
func hasFile(path string, size int) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular() && info.Size() == int64(size), err
}
