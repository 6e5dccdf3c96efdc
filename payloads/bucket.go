package payloads

import (
	"bytes"
	"context"
	"encoding/xml"
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

	"github.com/switchyard/switchyard/internal/spelling"
)

const (
	// bucketTimeout bounds one request, bucketAttempts says how often one is made that fails for reasons which pass.
	bucketTimeout  = time.Minute
	bucketAttempts = 4
	// firstPause is the time until the second attempt; it doubles.
	firstPause = 200 * time.Millisecond
	// maxBlob bounds what is read.
	maxBlob = 1 << 30
	// defaultRegion is what stores without regions expect.
	defaultRegion = "us-east-1"
)

// bucket is a store in an S3-compatible service: each blob is an object prefix/ab/abcd…, addressed by path.
type bucket struct {
	client         *http.Client
	endpoint       *url.URL
	name, prefix   string
	signer         signer
	pause          time.Duration
	configuredText string
}

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	// bucketPrefix has only what needs no escaping in a path.
	bucketPrefix = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)
	bucketRegion = regexp.MustCompile(`^[a-z0-9-]+$`)
)

// openBucket opens the store of a URL s3://bucket/prefix?endpoint=URL&region=NAME. The credentials are those of the
// environment: a URL is seen in lists of processes and in logs.
func openBucket(u *url.URL) (store, error) {
	if u.User != nil {
		return nil, errors.New("credentials do not belong into a URL, where others see them; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	prefix := strings.TrimSuffix(u.Path, "/")
	if !bucketName.MatchString(u.Host) || !bucketPrefix.MatchString(prefix) {
		return nil, fmt.Errorf("%q: write s3://bucket/prefix; a prefix has letters, digits and . _ ~ - in its parts", u)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", u, err)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if known := []string{"endpoint", "region"}; !slices.Contains(known, name) {
			return nil, fmt.Errorf("%q: there is no setting %q of a bucket, only endpoint and region %s", u, name, spelling.Hint(name, known))
		}
	}
	b := &bucket{name: u.Host, prefix: prefix, pause: firstPause, configuredText: u.String(), client: &http.Client{Timeout: bucketTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}} // a signature holds for one address
	if b.signer, err = signerOf(query.Get("region")); err != nil {
		return nil, err
	}
	if b.endpoint, err = endpointOf(query.Get("endpoint"), b.signer.region); err != nil {
		return nil, fmt.Errorf("%q: %w", u, err)
	}
	return b, nil
}

// signerOf takes from the environment what AWS's own programs do.
func signerOf(region string) (signer, error) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if region == "" {
			region = os.Getenv(name)
		}
	}
	if region == "" {
		region = defaultRegion
	}
	if !bucketRegion.MatchString(region) {
		return signer{}, fmt.Errorf("%q cannot be a region", region)
	}
	s := signer{region: region, id: os.Getenv("AWS_ACCESS_KEY_ID"), secret: os.Getenv("AWS_SECRET_ACCESS_KEY"), token: os.Getenv("AWS_SESSION_TOKEN")}
	if s.id == "" || s.secret == "" {
		return s, errors.New("a bucket needs credentials in the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN where there is one")
	}
	return s, nil
}

func endpointOf(text, region string) (*url.URL, error) {
	if text == "" {
		text = "https://s3." + region + ".amazonaws.com"
	}
	e, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	if e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil || e.RawQuery != "" || strings.Trim(e.Path, "/") != "" {
		return nil, errors.New("the endpoint must be http://host:port or https://host:port")
	}
	return e, nil
}

func (b *bucket) kind() string { return "switchyard.s3" }

func (b *bucket) String() string { return b.configuredText }

func (b *bucket) path(key string) string { return b.prefix + "/" + key[:2] + "/" + key }

func (b *bucket) put(ctx context.Context, key string, data []byte) error {
	_, err := b.try(ctx, http.MethodPut, key, data)
	return err
}

func (b *bucket) get(ctx context.Context, key string) ([]byte, error) {
	return b.try(ctx, http.MethodGet, key, nil)
}

// try makes a request until it succeeds, cannot, or was made often enough.
func (b *bucket) try(ctx context.Context, method, key string, body []byte) (data []byte, err error) {
	pause := b.pause
	for attempt := 1; ; attempt++ {
		var again bool
		if data, again, err = b.request(ctx, method, key, body); err == nil {
			return data, nil
		}
		if !again || attempt == bucketAttempts || ctx.Err() != nil {
			return nil, fmt.Errorf("the payload store %s, %s %s: %w", b, method, b.path(key)[1:], err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// request makes one request; again says that the error may pass.
func (b *bucket) request(ctx context.Context, method, key string, body []byte) (data []byte, again bool, err error) {
	target := *b.endpoint
	target.Path = "/" + b.name + b.path(key)
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, false, err
	}
	b.signer.sign(req, keyOf(body), time.Now())
	response, err := b.client.Do(req)
	if err != nil {
		return nil, true, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		data, err = io.ReadAll(io.LimitReader(response.Body, maxBlob))
		return data, true, err
	}
	return nil, response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests, refusal(response)
}

// refusal says what a service answered, and what to do.
func refusal(response *http.Response) error {
	var told struct {
		Code    string
		Message string
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil || xml.Unmarshal(body, &told) != nil {
		told.Message = "" // what stands between it and us need not speak its language
	}
	said := strings.TrimSpace(fmt.Sprintf("%s %s %s", response.Status, told.Code, told.Message))
	switch {
	case told.Code == "NoSuchBucket":
		return fmt.Errorf("there is no such bucket (%s); make it, or name another", said)
	case response.StatusCode == http.StatusNotFound:
		return fmt.Errorf("it is not there (%s): it was removed, or another store is meant; restore it, or name the right store", said)
	case response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("access is refused (%s); check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, the region and what the key may do", said)
	case response.StatusCode/100 == 3:
		return fmt.Errorf("the bucket is elsewhere (%s); check region and endpoint", said)
	}
	return errors.New("the service answers " + said)
}
