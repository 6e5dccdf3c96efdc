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

// Storage is an open configuration. One may be used for any number of connections at a time.
type Storage struct {
	codec     codec
	store     store // nil for none
	threshold int
	recent    *recent
	converter converter.DataConverter

	// OnUnreadable hears of workflow tasks that were given back because this process cannot read their payloads; nil for
	// nobody. It is set before the first connection.
	OnUnreadable func(workflowID string, err error)
}

// Apply puts all that is needed into the options of a connection. A data converter that is there already is kept, below the
// codec. It fails where there is another external storage.
func (s *Storage) Apply(o *client.Options) error {
	if s.store != nil && len(o.ExternalStorage.Drivers) > 0 {
		return errors.New("the connection has an external storage of its own: leave out either that or --" + flagStore)
	}
	base := o.DataConverter
	if base == nil {
		base = converter.GetDefaultDataConverter()
	}
	o.DataConverter = converter.NewCodecDataConverter(base, &s.codec)
	if o.FailureConverter == nil {
		o.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: o.DataConverter, EncodeCommonAttributes: s.codec.ring.encrypts()})
	}
	if s.store != nil {
		o.ExternalStorage = s.External()
	}
	o.ConnectionOptions.DialOptions = append(o.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(s.intercept))
	return nil
}

// External is the store as the SDK uses one; the zero value without a store.
func (s *Storage) External() converter.ExternalStorage {
	if s.store == nil {
		return converter.ExternalStorage{}
	}
	return converter.ExternalStorage{Drivers: []converter.StorageDriver{driver{s}}, PayloadSizeThreshold: s.threshold}
}

// Codecs are what payloads are encoded with before they go to the store.
func (s *Storage) Codecs() []converter.PayloadCodec { return []converter.PayloadCodec{&s.codec} }

// Stores reports whether there is a store.
func (s *Storage) Stores() bool { return s.store != nil }

// referencePrefix begins references of Keep.
const referencePrefix = "sha256:"

// Keep puts a JSON value into the store, compressed and encrypted as payloads are, and returns the reference that Get
// finds it by.
func (s *Storage) Keep(ctx context.Context, value json.RawMessage) (string, error) {
	if s.store == nil {
		return "", errors.New("there is no payload store")
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

// Get returns what Keep put into the store. Its errors have ErrPayload in them.
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

// resolve returns payloads as they were before they were encoded and stored.
func (s *Storage) resolve(ctx context.Context, list []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(list, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if k, ok := storedKey(p); ok {
			var err error
			if p, err = s.payload(ctx, k); err != nil {
				return nil, err
			}
		}
		return s.codec.decode(p)
	})
}
