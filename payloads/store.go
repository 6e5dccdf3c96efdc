package payloads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/switchyard/switchyard/payloads/s3"
)

// store keeps bytes by the SHA-256 of what they are. Every method may be called at any time by any number of goroutines.
type store interface {
	// put keeps data; a key that is there already is written again, so that it counts as new for whoever removes old ones.
	Put(ctx context.Context, key string, data []byte) error
	// get returns what put kept, or an error that says where it was looked for.
	Get(ctx context.Context, key string) ([]byte, error)
	// kind is the type of the storage driver.
	Kind() string
	// String is the store as configured.
	String() string
}

func openStore(text string) (store, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("this is not a URL: %w", err)
	}
	switch u.Scheme {
	case "file":
		return openFolder(u)
	case "s3":
		return s3.Open(u)
	}
	return nil, errors.New("write file:///folder or s3://bucket/prefix?endpoint=URL&region=NAME")
}

// driverName stands in histories with every reference to a store. It is the same for all stores, so that what is in one
// can be moved to another.
const driverName = "switchyard"

// claimKey is what a reference calls the key.
const claimKey = "sha256"

// driver is a store as the SDK uses one.
type driver struct{ s *Storage }

var _ converter.StorageDriver = driver{}

// Name implements converter.StorageDriver.
func (d driver) Name() string { return driverName }

// Type implements converter.StorageDriver.
func (d driver) Type() string { return d.s.store.Kind() }

// Store implements converter.StorageDriver.
func (d driver) Store(ctx converter.StorageDriverStoreContext, list []*commonpb.Payload) ([]converter.StorageDriverClaim, error) {
	claims := make([]converter.StorageDriverClaim, len(list))
	for i, p := range list {
		err := ctx.GetLimiter().Permit(ctx.Context, p, func() error {
			data, err := proto.Marshal(p)
			if err != nil {
				return err
			}
			key, err := d.s.put(ctx.Context, data)
			claims[i] = converter.StorageDriverClaim{ClaimData: map[string]string{claimKey: key}}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return claims, nil
}

// Retrieve implements converter.StorageDriver.
func (d driver) Retrieve(ctx converter.StorageDriverRetrieveContext, claims []converter.StorageDriverClaim) ([]*commonpb.Payload, error) {
	list := make([]*commonpb.Payload, len(claims))
	for i, claim := range claims {
		err := ctx.GetLimiter().Permit(ctx.Context, claim, func() (err error) {
			list[i], err = d.s.payload(ctx.Context, claim.ClaimData[claimKey])
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// key matches a SHA-256 as it is written.
var key = regexp.MustCompile(`^[0-9a-f]{64}$`)

func keyOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// put keeps data in the store and returns its key.
func (s *Storage) put(ctx context.Context, data []byte) (string, error) {
	k := keyOf(data)
	if err := s.store.Put(ctx, k, data); err != nil {
		return "", err
	}
	s.recent.add(k, data)
	return k, nil
}

// get returns what has a key, from this process's memory or from the store. Its errors have ErrPayload in them.
func (s *Storage) get(ctx context.Context, k string) ([]byte, error) {
	if !key.MatchString(k) {
		return nil, fmt.Errorf("%w: %q is not a reference to a payload; one is the 64 hex digits of a SHA-256", ErrPayload, k)
	}
	if s.store == nil {
		return nil, fmt.Errorf("%w: it is in a payload store, as %s, and none is given; say --%s URL or SWITCHYARD_PAYLOAD_STORE", ErrPayload, k, flagStore)
	}
	if data, ok := s.recent.get(k); ok {
		return data, nil
	}
	data, err := s.store.Get(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPayload, err)
	}
	if keyOf(data) != k {
		return nil, fmt.Errorf("%w: %s in the payload store %s was altered or is damaged: its SHA-256 is %s; restore it from a backup", ErrPayload, k, s.store, keyOf(data))
	}
	s.recent.add(k, data)
	return data, nil
}

// payload returns a payload of the store, still encoded as by the codec.
func (s *Storage) payload(ctx context.Context, k string) (*commonpb.Payload, error) {
	data, err := s.get(ctx, k)
	if err != nil {
		return nil, err
	}
	return unmarshal(data)
}
