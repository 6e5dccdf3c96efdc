package payloads

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

func payload(t *testing.T, value any) *commonpb.Payload {
	t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayload(value)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCodec_ReturnsWhatWasEncoded(t *testing.T) {
	ring, err := loadKeys(writeFile(t, "keys.yaml", keysText(t, "k", "k")))
	if err != nil {
		t.Fatal(err)
	}
	long := "secret " + strings.Repeat("the same again ", 5000)
	noise := make([]byte, 40_000)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	for name, c := range map[string]*codec{"as it is": {}, "compressed": {least: 1000},
		"encrypted": {ring: ring}, "both": {ring: ring, least: 1000}} {
		for what, p := range map[string]*commonpb.Payload{"small": payload(t, "secret"),
			"long": payload(t, long), "noise": payload(t, noise), "nil": payload(t,
				nil), "empty": {}} {
			encoded, err := c.Encode([]*commonpb.Payload{p})
			if err != nil {
				t.Fatal(err)
			}
			if shrinks := len(encoded[0].GetData()) < len(p.GetData())/2; shrinks != (c.least > 0 &&
				what == "long") {
				t.Errorf("%s, %s: %d bytes became %d", name, what, len(p.GetData()),
					len(encoded[0].GetData()))
			}
			if c.ring != nil && (bytes.Contains(encoded[0].GetData(), []byte("secret")) ||
				!isEncoded(encoded[0], encodingEncrypted)) {
				t.Errorf("%s, %s: it is readable", name, what)
			}
			decoded, err := (&codec{ring: ring}).Decode(encoded)
			if err != nil || !proto.Equal(decoded[0], p) {
				t.Errorf("%s, %s: it comes back as %.80v, %v", name, what, decoded, err)
			}
		}
	}
}

func TestCodec_RejectsAlteredPayloads(t *testing.T) {
	ring, err := loadKeys(writeFile(t, "keys.yaml", keysText(t, "k", "k", "l")))
	if err != nil {
		t.Fatal(err)
	}
	c := &codec{ring: ring}
	sealed := func(change func(*commonpb.Payload)) *commonpb.Payload {
		encoded, err := c.Encode([]*commonpb.Payload{payload(t, "text")})
		if err != nil {
			t.Fatal(err)
		}
		change(encoded[0])
		return encoded[0]
	}
	bomb, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	compressed := func(data []byte) *commonpb.Payload {
		return &commonpb.Payload{Data: data,
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingCompressed)}}
	}
	for name, p := range map[string]*commonpb.Payload{
		"altered": sealed(func(p *commonpb.Payload) { p.Data[len(p.Data)/2] ^= 1 }),
		"cut":     sealed(func(p *commonpb.Payload) { p.Data = p.Data[:5] }),
		"another key": sealed(func(p *commonpb.Payload) {
			p.Metadata[metadataKeyID] = []byte("l")
		}),
		"no key":       sealed(func(p *commonpb.Payload) { delete(p.Metadata, metadataKeyID) }),
		"no zstd":      compressed([]byte("text")),
		"no payload":   compressed(bomb.EncodeAll([]byte("\xff\xff"), nil)),
		"a large bomb": compressed(bomb.EncodeAll(make([]byte, maxPlain+1), nil)),
	} {
		if _, err := c.Decode([]*commonpb.Payload{p}); !errors.Is(err, errPayload) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Decoding within a limit needs little memory, whatever a payload expands to.
func TestCodec_DecodesWithinALimit(t *testing.T) {
	const most = 1 << 20
	encoded := func(size int) *commonpb.Payload {
		list, err := (&codec{least: 1}).Encode([]*commonpb.Payload{{Data: make([]byte, size)}})
		if err != nil {
			t.Fatal(err)
		}
		return list[0]
	}
	var bomb bytes.Buffer
	w, err := zstd.NewWriter(&bomb) // such a frame does not declare its size
	if err != nil {
		t.Fatal(err)
	}
	for range 256 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	exploding := &commonpb.Payload{Data: bomb.Bytes(),
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingCompressed)}}
	half := encoded(most / 2)
	for name, c := range map[string]struct {
		list []*commonpb.Payload
		fits bool
	}{
		"one":          {[]*commonpb.Payload{half}, true},
		"together":     {[]*commonpb.Payload{half, half, half}, false},
		"one, large":   {[]*commonpb.Payload{encoded(most + 1)}, false},
		"a bomb":       {[]*commonpb.Payload{exploding}, false},
		"after a fit":  {[]*commonpb.Payload{half, exploding}, false},
		"plain":        {[]*commonpb.Payload{{Data: make([]byte, most/2)}}, true},
		"plain, large": {[]*commonpb.Payload{{Data: make([]byte, most)}}, false},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := (&codec{most: most}).Decode(c.list)
		runtime.ReadMemStats(&after)
		if (err == nil) != c.fits || !c.fits && (!errors.Is(err, errTooLarge) ||
			!errors.Is(err, errPayload)) {
			t.Errorf("%s: %v, fits: %t", name, err, c.fits)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 48<<20 {
			t.Errorf("%s: decoding allocates %d bytes", name, used)
		}
	}
}
