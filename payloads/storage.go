package payloads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Storage is an open configuration. It is safe for concurrent use by any number of connections.
type Storage struct {
	codec     codec
	store     Store // nil for none
	threshold int
	// place is the address of the store without user and query, which can hold secrets.
	place     string
	recent    *recent
	converter converter.DataConverter

	// OnUnreadable is called with workflow tasks that were returned to the server because this
	// process cannot read their payloads; nil for no notification. Set it before the first
	// connection.
	OnUnreadable func(workflowID string, err error)
}

// Apply adds codec, store and interceptor to the options of a connection. An existing data
// converter stays, below the codec. An existing external storage is an error if there is a store.
func (s *Storage) Apply(o *client.Options) error {
	if s.store != nil && len(o.ExternalStorage.Drivers) > 0 {
		return errors.New("the connection already has an external storage; remove it or --" +
			flagStore)
	}
	base := o.DataConverter
	if base == nil {
		base = converter.GetDefaultDataConverter()
	}
	o.DataConverter = converter.NewCodecDataConverter(base, &s.codec)
	if o.FailureConverter == nil {
		o.FailureConverter = temporal.NewDefaultFailureConverter(
			temporal.DefaultFailureConverterOptions{
				DataConverter: o.DataConverter, EncodeCommonAttributes: s.codec.ring.encrypts()})
	}
	if s.store != nil {
		o.ExternalStorage = s.External()
	}
	o.ConnectionOptions.DialOptions = append(o.ConnectionOptions.DialOptions,
		grpc.WithChainUnaryInterceptor(s.intercept))
	return nil
}

// External returns the store in the SDK's form; the zero value without a store.
func (s *Storage) External() converter.ExternalStorage {
	if s.store == nil {
		return converter.ExternalStorage{}
	}
	return converter.ExternalStorage{Drivers: []converter.StorageDriver{driver{s}},
		PayloadSizeThreshold: s.threshold}
}

// CodecsWithin returns the codecs that encode payloads before they are stored, for a reader with
// little memory. The payloads of one decoding have at most so many bytes together when they are
// decompressed. Of larger ones it returns an error.
func (s *Storage) CodecsWithin(most int) []converter.PayloadCodec {
	limited := s.codec
	limited.most = most
	return []converter.PayloadCodec{&limited}
}

// Stores reports whether there is a store.
func (s *Storage) Stores() bool { return s.store != nil }

// referencePrefix is the prefix of Keep's references.
const referencePrefix = "sha256:"

// Keep stores a JSON value, compressed and encrypted like a payload, and returns a reference for
// Get.
func (s *Storage) Keep(ctx context.Context, value json.RawMessage) (string, error) {
	if s.store == nil {
		return "", errors.New("no payload store is configured")
	}
	p, err := s.converter.ToPayload(value)
	if err != nil {
		return "", err
	}
	data, err := proto.Marshal(p)
	if err != nil {
		return "", err
	}
	k, err := s.put(ctx, data)
	return referencePrefix + k, err
}

// Get returns the value that Keep stored. Its errors wrap errPayload.
func (s *Storage) Get(ctx context.Context, reference string) (json.RawMessage, error) {
	p, err := s.payload(ctx, strings.TrimPrefix(reference, referencePrefix))
	if err != nil {
		return nil, err
	}
	var value json.RawMessage
	if err := s.converter.FromPayload(p, &value); err != nil {
		return nil, fmt.Errorf("%s: %w", reference, err)
	}
	return value, nil
}

// resolve loads stored payloads and decodes all of them.
func (s *Storage) resolve(ctx context.Context, list []*commonpb.Payload) ([]*commonpb.Payload,
	error) {
	return each(list, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if k, ok := storedKey(p); ok {
			var err error
			if p, err = s.payload(ctx, k); err != nil {
				return nil, err
			}
		}
		return s.codec.decode(p, maxPlain)
	})
}
