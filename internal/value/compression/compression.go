// Package compression compresses values of histories, and bounds what they expand to.
package compression

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// MaxPlain bounds the decompressed size of a value, in bytes. A workflow task decodes and checks
// so much in time.
const MaxPlain = 32 << 20

// Gzip compresses data.
func Gzip(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if _, err := w.Write(plain); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return b.Bytes(), nil
}

// Gunzip decompresses data; it fails if the result has more than limit bytes.
func Gunzip(data []byte, limit int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(plain) > limit {
		return nil, fmt.Errorf("the value has more than %d bytes", limit)
	}
	return plain, nil
}
