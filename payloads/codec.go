package payloads

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// Encodings and metadata keys of payloads. They are part of histories and must not change.
const (
	encodingEncrypted  = "binary/encrypted"
	encodingCompressed = "binary/zstd"
	metadataKeyID      = "encryption-key-id"
	metadataCipher     = "encryption-cipher"
	cipherName         = "AES-256-GCM"
)

// maxPlain bounds the size of a decompressed payload. Larger payloads are not compressed.
const maxPlain = 128 << 20

// codec compresses payloads and then encrypts them. It decodes the payloads of every codec whose
// keys it has, and leaves all others unchanged.
type codec struct {
	ring *Keys
	// least is the minimum size of compressed payloads, in bytes; zero for no compression.
	least int
	// most bounds the decoded payloads of one Decode together, in bytes; zero for maxPlain
	// each.
	most int
}

var _ converter.PayloadCodec = (*codec)(nil)

// Encode implements converter.PayloadCodec.
func (c *codec) Encode(list []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(list, c.encode)
}

// Decode implements converter.PayloadCodec. Its errors wrap errPayload.
func (c *codec) Decode(list []*commonpb.Payload) ([]*commonpb.Payload, error) {
	left := c.most
	return each(list, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if c.most == 0 {
			return c.decode(p, maxPlain)
		}
		plain, err := c.decode(p, left)
		if left -= proto.Size(plain); err == nil && left < 0 { // it was not compressed
			err = fmt.Errorf("%w: %w", errPayload, errTooLarge)
		}
		return plain, err
	})
}

func each(list []*commonpb.Payload, do func(*commonpb.Payload) (*commonpb.Payload,
	error)) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(list))
	for i, p := range list {
		var err error
		if out[i], err = do(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *codec) encode(p *commonpb.Payload) (*commonpb.Payload, error) {
	if c.least == 0 && !c.ring.encrypts() {
		return p, nil
	}
	p, err := c.compress(p)
	if err != nil || !c.ring.encrypts() {
		return p, err
	}
	plain, err := proto.Marshal(p)
	if err != nil {
		return nil, err
	}
	return &commonpb.Payload{Data: c.ring.seal(plain), Metadata: map[string][]byte{
		converter.MetadataEncoding: []byte(encodingEncrypted), metadataCipher: []byte(
			cipherName), metadataKeyID: []byte(c.ring.active)}}, nil
}

// compress returns the compressed payload if that saves a tenth, else p.
func (c *codec) compress(p *commonpb.Payload) (*commonpb.Payload, error) {
	if size := proto.Size(p); c.least == 0 || size < c.least || size > maxPlain {
		return p, nil
	}
	plain, err := proto.Marshal(p)
	if err != nil {
		return nil, err
	}
	small := encoder().EncodeAll(plain, nil)
	if len(small) > len(plain)*9/10 {
		return p, nil
	}
	return &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(
		encodingCompressed)}, Data: small}, nil
}

// decode returns the decoded payload. most bounds its size if it is compressed, in bytes.
func (c *codec) decode(p *commonpb.Payload, most int) (*commonpb.Payload, error) {
	if isEncoded(p, encodingEncrypted) {
		if used := string(p.GetMetadata()[metadataCipher]); used != cipherName {
			return nil, fmt.Errorf("%w: it was encrypted by another program with the cipher %q",
				errPayload, used)
		}
		plain, err := c.ring.open(string(p.GetMetadata()[metadataKeyID]), p.GetData())
		if err != nil {
			return nil, err
		}
		if p, err = unmarshal(plain); err != nil {
			return nil, err
		}
	}
	if isEncoded(p, encodingCompressed) {
		plain, err := decompress(p.GetData(), most)
		if err != nil {
			return nil, fmt.Errorf("%w: it cannot be decompressed: %w", errPayload, err)
		}
		return unmarshal(plain)
	}
	return p, nil
}

// decompress returns at most so many bytes, or an error if there are more. Below maxPlain it needs
// no more memory than a small multiple of them, whatever the data expands to.
func decompress(data []byte, most int) ([]byte, error) {
	if most >= maxPlain {
		return decoder().DecodeAll(data, nil)
	}
	if most <= 0 {
		return nil, errTooLarge
	}
	r, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPlain),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	plain, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(plain) > most {
		return nil, errTooLarge
	}
	return plain, nil
}

// maxWindow is the window of the encoder, which is the memory that a decoder needs beside its
// output.
const maxWindow = 8 << 20

// errTooLarge is the error of a payload that is larger than a reader accepts.
var errTooLarge = errors.New("it is larger than this program reads at once")

func isEncoded(p *commonpb.Payload, encoding string) bool {
	return string(p.GetMetadata()[converter.MetadataEncoding]) == encoding
}

func unmarshal(data []byte) (*commonpb.Payload, error) {
	p := &commonpb.Payload{}
	if err := proto.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("%w: it is damaged: %w", errPayload, err)
	}
	return p, nil
}

// encoder and decoder are safe for concurrent use.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil)
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPlain),
			zstd.WithDecoderConcurrency(0))
		if err != nil {
			panic(err) // the options are constants
		}
		return d
	})
)
