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
)

// Store holds blobs by the SHA-256 of their content. Its methods are safe for concurrent use.
type Store interface {
	// Put stores data. An existing blob is written again, so that its age counts from now on.
	Put(ctx context.Context, key string, data []byte) error
	// Get returns the data of a key, or an error that names the location.
	Get(ctx context.Context, key string) ([]byte, error)
	// Kind returns the type of the storage driver.
	Kind() string
	// String returns the configured URL.
	String() string
}

// drivers open stores by the scheme of their URL.
var drivers = map[string]func(*url.URL) (Store, error){"file": openFolder}

// Register makes a kind of store available for URLs of a scheme. It is called by the init function
// of a package that a program imports for its stores, such as payloads/s3.
func Register(scheme string, open func(*url.URL) (Store, error)) { drivers[scheme] = open }

func openStore(text string) (Store, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("invalid URL: %w", err)
	}
	if open := drivers[u.Scheme]; open != nil {
		return open(u)
	}
	if u.Scheme == "s3" {
		return nil, errors.New("this program cannot open s3 stores; import " +
			"_ \"github.com/switchyard/switchyard/payloads/s3\" in it")
	}
	return nil, errors.New("write file:///folder or s3://bucket/prefix?endpoint=URL&region=NAME")
}

// driverName is part of every reference in histories. It is the same for all stores, so that blobs
// can move between them.
const driverName = "switchyard"

// claimKey is the name of the key in a reference.
const claimKey = "sha256"

// driver is the SDK's interface to a store.
type driver struct{ s *Storage }

var _ converter.StorageDriver = driver{}

// Name implements converter.StorageDriver.
func (d driver) Name() string { return driverName }

// Type implements converter.StorageDriver.
func (d driver) Type() string { return d.s.store.Kind() }

// Store implements converter.StorageDriver.
func (d driver) Store(ctx converter.StorageDriverStoreContext,
	list []*commonpb.Payload) ([]converter.StorageDriverClaim, error) {
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
func (d driver) Retrieve(ctx converter.StorageDriverRetrieveContext,
	claims []converter.StorageDriverClaim) ([]*commonpb.Payload, error) {
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

// key matches a SHA-256 in hex.
var key = regexp.MustCompile(`^[0-9a-f]{64}$`)

func computeKey(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// put stores data and returns its key.
func (s *Storage) put(ctx context.Context, data []byte) (string, error) {
	k := computeKey(data)
	if err := s.store.Put(ctx, k, data); err != nil {
		return "", err
	}
	s.recent.add(k, data)
	return k, nil
}

// get returns the blob of a key from the cache or the store. Its errors wrap errPayload.
func (s *Storage) get(ctx context.Context, k string) ([]byte, error) {
	if !key.MatchString(k) {
		return nil, fmt.Errorf("%w: %q is not a reference to a payload; one is the 64 hex digits "+
			"of a SHA-256", errPayload, k)
	}
	if s.store == nil {
		return nil, fmt.Errorf("%w: it is in a payload store, as %s, and none is configured; set "+
			"--%s URL or SWITCHYARD_PAYLOAD_STORE", errPayload, k, flagStore)
	}
	if data, ok := s.recent.get(k); ok {
		return data, nil
	}
	data, err := s.store.Get(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPayload, err)
	}
	if computeKey(data) != k {
		return nil, fmt.Errorf("%w: %s in the payload store %s was altered or is damaged: its "+
			"SHA-256 is %s; restore it from a backup", errPayload, k, s.store, computeKey(data))
	}
	s.recent.add(k, data)
	return data, nil
}

// payload returns a stored payload, still encoded by the codec.
func (s *Storage) payload(ctx context.Context, k string) (*commonpb.Payload, error) {
	data, err := s.get(ctx, k)
	if err != nil {
		return nil, err
	}
	return unmarshal(data)
}
