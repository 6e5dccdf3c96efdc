// Package s3 stores payloads in a bucket of Amazon S3 or of a compatible service. A program that
// imports it can open stores with URLs of the scheme s3.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/payloads"
)

func init() {
	payloads.Register("s3", func(u *url.URL) (payloads.Store, error) { return openBucket(u) })
}

const (
	// timeout bounds one Put or Get with all its attempts.
	timeout = 2 * time.Minute
	// attempts is the number of times that a request is sent if it fails for a passing reason.
	attempts = 4
	// maxBlob bounds the bytes that Get reads.
	maxBlob = 1 << 30
	// defaultRegion is the region that services without regions expect.
	defaultRegion = "us-east-1"
)

// bucket stores blobs by the SHA-256 of their content. The blob abcd… is the object
// prefix/ab/abcd…. A bucket is safe for concurrent use.
type bucket struct {
	client       *minio.Core
	name, prefix string
	url          string
}

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	// bucketPrefix allows the characters that need no escaping in a path.
	bucketPrefix = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)
	bucketRegion = regexp.MustCompile(`^[a-z0-9-]+$`)
)

// openBucket returns the bucket of a URL s3://bucket/prefix?endpoint=URL&region=NAME. It sends no
// request: credentials are looked up with the first Put or Get, as credentialsFor describes.
func openBucket(u *url.URL) (*bucket, error) {
	if u.User != nil {
		return nil, errors.New("a URL with credentials shows them in process lists and logs; " +
			"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	prefix := strings.TrimSuffix(u.Path, "/")
	if !bucketName.MatchString(u.Host) || !bucketPrefix.MatchString(prefix) {
		return nil, fmt.Errorf("%q: write s3://bucket/prefix; "+
			"each part of the prefix has letters, digits and . _ ~ - only", u)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", u, err)
	}
	known := []string{"endpoint", "region"}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%q: unknown bucket setting %q (%s)",
				u, name, spelling.Hint(name, known))
		}
	}
	client, err := connect(query.Get("endpoint"), query.Get("region"))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", u, err)
	}
	return &bucket{client: client, name: u.Host, prefix: prefix, url: u.String()}, nil
}

// connect returns the client for an endpoint, by default Amazon's, and a region, by default the
// one of the environment.
func connect(endpoint, region string) (*minio.Core, error) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if region == "" {
			region = os.Getenv(name)
		}
	}
	if region == "" {
		region = defaultRegion
	}
	if !bucketRegion.MatchString(region) {
		return nil, fmt.Errorf("%q is not a region; write a name like eu-central-1", region)
	}
	if endpoint == "" {
		endpoint = "https://s3." + region + ".amazonaws.com"
	}
	e, err := parseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	source, err := credentialsFor(region)
	if err != nil {
		return nil, err
	}
	return minio.NewCore(e.Host, &minio.Options{
		Creds: source, Secure: e.Scheme == "https", Region: region, MaxRetries: attempts})
}

// parseEndpoint returns the address of an S3 server: a scheme, a host and a port.
func parseEndpoint(endpoint string) (*url.URL, error) {
	e, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	if e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil ||
		e.RawQuery != "" || strings.Trim(e.Path, "/") != "" {
		return nil, errors.New("the endpoint must be http://host:port or https://host:port")
	}
	return e, nil
}

// Kind returns the type of the store, as histories name it.
func (b *bucket) Kind() string { return "switchyard.s3" }

// String returns the URL that the bucket was opened with.
func (b *bucket) String() string { return b.url }

func (b *bucket) object(key string) string {
	return strings.TrimPrefix(b.prefix+"/"+key[:2]+"/"+key, "/")
}

// Put stores data under key, the SHA-256 of data in hex. An existing object is written again, so
// that lifecycle rules count its age from now on.
func (b *bucket) Put(ctx context.Context, key string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := b.client.PutObject(ctx, b.name, b.object(key), bytes.NewReader(data),
		int64(len(data)),
		"", key, minio.PutObjectOptions{})
	return b.explain(http.MethodPut, key, err)
}

// Get returns the data that Put stored under key.
func (b *bucket) Get(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		data, cut, err := b.read(ctx, key)
		if err == nil || !cut || attempt == attempts || ctx.Err() != nil {
			return data, b.explain(http.MethodGet, key, err)
		}
	}
}

// read reads an object. cut is set if the response was cut off, which the client does not retry.
func (b *bucket) read(ctx context.Context, key string) (data []byte, cut bool, err error) {
	body, _, _, err := b.client.GetObject(ctx, b.name, b.object(key), minio.GetObjectOptions{})
	if err != nil {
		return nil, false, err
	}
	data, err = io.ReadAll(io.LimitReader(body, maxBlob))
	return data, true, errors.Join(err, body.Close())
}

// explain adds to an error which request failed and what to do. It returns nil for nil.
func (b *bucket) explain(method, key string, err error) error {
	if err == nil {
		return nil
	}
	if answer, ok := errors.AsType[minio.ErrorResponse](err); ok && answer.StatusCode != 0 {
		err = explainAnswer(answer)
	}
	return fmt.Errorf("payload store %s: %s %s: %w", b, method, b.object(key), err)
}

func explainAnswer(a minio.ErrorResponse) error {
	said := a.Error()
	if said != a.Code { // without an error document, both are the HTTP status line
		said = fmt.Sprintf("%d %s: %s", a.StatusCode, a.Code, said)
	}
	switch {
	case a.Code == minio.NoSuchBucket:
		return fmt.Errorf("the bucket does not exist (%s); create it or name another one", said)
	case a.StatusCode == http.StatusNotFound:
		return fmt.Errorf("the object does not exist (%s): it was removed or is in another store; "+
			"restore it or name that store", said)
	case a.StatusCode == http.StatusForbidden || a.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("access is denied (%s); check the credentials, the region and "+
			"the permissions GetObject and PutObject", said)
	case a.StatusCode/100 == 3 || a.Code == minio.AuthorizationHeaderMalformed:
		return fmt.Errorf("the bucket is in another region or service (%s); "+
			"check region and endpoint", said)
	}
	return fmt.Errorf("the service answers %s", said)
}
