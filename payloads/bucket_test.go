package payloads

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rclone/gofakes3"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// shelf keeps the objects of a server of S3, which checks the signatures itself.
type shelf struct {
	gofakes3.Backend // what is not below is never asked for
	mu               sync.Mutex
	objects          map[string][]byte
}

func (s *shelf) BucketExists(_ context.Context, name string) (bool, error) {
	return name == "bucket", nil
}

func (s *shelf) PutObject(_ context.Context, _, key string, _ map[string]string, input io.Reader, _ int64) (gofakes3.PutObjectResult, error) {
	data, err := io.ReadAll(input)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = data
	return gofakes3.PutObjectResult{}, err
}

func (s *shelf) GetObject(_ context.Context, _, key string, _ *gofakes3.ObjectRangeRequest) (*gofakes3.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.objects[key]
	if !ok {
		return nil, gofakes3.KeyNotFound(key)
	}
	return &gofakes3.Object{Name: key, Size: int64(len(data)), Contents: io.NopCloser(bytes.NewReader(data)), Hash: []byte{1}}, nil
}

// s3Server is a server of S3 that knows one pair of keys, which the environment has, and fails the first requests.
func s3Server(t *testing.T, failures int) (*shelf, string) {
	t.Helper()
	s := &shelf{objects: map[string][]byte{}}
	served := gofakes3.New(s, gofakes3.WithV4Auth(map[string]string{"AKID": "the secret/key"}), gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	var made atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if made.Add(1) <= int64(failures) {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		served.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "the secret/key", "AWS_SESSION_TOKEN": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": ""} {
		t.Setenv(name, value)
	}
	return s, server.URL
}

// TestBucket proves that payloads come back from a server of S3 that checks every signature, also when it is busy at first,
// and lie there by the same names as in a folder.
func TestBucket(t *testing.T) {
	kept, endpoint := s3Server(t, 2)
	c := Config{Store: "s3://bucket/some/prefix/?endpoint=" + endpoint + "&region=eu-central-1"}
	s := open(t, c)
	s.store.(*bucket).pause = time.Millisecond
	list := []*commonpb.Payload{payload(t, strings.Repeat("a", 100_000)), payload(t, nil)}
	claims, err := driver{s}.Store(converter.StorageDriverStoreContext{Context: t.Context()}, list)
	if err != nil {
		t.Fatal(err)
	}
	got, err := driver{open(t, c)}.Retrieve(converter.StorageDriverRetrieveContext{Context: t.Context()}, claims)
	if err != nil || !proto.Equal(got[0], list[0]) || !proto.Equal(got[1], list[1]) {
		t.Errorf("got %.100v, %v", got, err)
	}
	k := claims[0].ClaimData[claimKey]
	if len(kept.objects) != 2 || kept.objects["some/prefix/"+k[:2]+"/"+k] == nil {
		t.Errorf("the server has %d objects", len(kept.objects))
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestBucketFailures proves what is said of a missing blob or bucket, refused access, a bucket elsewhere and a service that
// is away; no message holds the secret.
func TestBucketFailures(t *testing.T) {
	_, endpoint := s3Server(t, 0)
	moved := httptest.NewServer(http.RedirectHandler("http://elsewhere.example/", http.StatusTemporaryRedirect))
	defer moved.Close()
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }))
	defer busy.Close()
	key := strings.Repeat("ab", 32)
	for _, c := range []struct{ name, store, secret, want string }{
		{"no blob", "s3://bucket?endpoint=" + endpoint, "the secret/key", "GET ab/" + key + ": it is not there (404 Not Found NoSuchKey"},
		{"no bucket", "s3://other?endpoint=" + endpoint, "the secret/key", "there is no such bucket"},
		{"wrong secret", "s3://bucket?endpoint=" + endpoint, "hunter2hunter2", "access is refused (403 Forbidden SignatureDoesNotMatch"},
		{"elsewhere", "s3://bucket?endpoint=" + moved.URL, "hunter2hunter2", "the bucket is elsewhere (307"},
		{"busy", "s3://bucket?endpoint=" + busy.URL, "hunter2hunter2", "the service answers 429"},
		{"away", "s3://bucket?endpoint=http://127.0.0.1:1", "hunter2hunter2", "connection refused"},
	} {
		t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
		s := open(t, Config{Store: c.store})
		s.store.(*bucket).pause = time.Millisecond
		_, err := s.Get(t.Context(), key)
		if !errors.Is(err, ErrPayload) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.store) || strings.Contains(err.Error(), c.secret) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, Config{Store: "s3://bucket?endpoint=" + busy.URL}).Get(ctx, key); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestBucketFaults proves that a wrong URL of a bucket, or one with credentials in it, is refused.
func TestBucketFaults(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	for _, c := range []struct{ store, want string }{
		{"s3://key:hunter2@bucket/", "AWS_ACCESS_KEY_ID"},
		{"s3://", "s3://bucket/prefix"},
		{"s3://Bucket", "s3://bucket/prefix"},
		{"s3://bucket/a b", "s3://bucket/prefix"},
		{"s3://bucket/a//b", "s3://bucket/prefix"},
		{"s3://bucket?end_point=http://x", `no setting "end_point"`},
		{"s3://bucket?endpoint=x", "http://host:port"},
		{"s3://bucket?endpoint=http://x/y", "http://host:port"},
		{"s3://bucket?region=EU!", "cannot be a region"},
		{"s3://bucket?a=%zz", "invalid URL escape"},
	} {
		_, err := Open(Config{Store: c.store})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", c.store, err)
		}
	}
	t.Setenv("AWS_REGION", "eu-north-1")
	if b := open(t, Config{Store: "s3://bucket"}).store.(*bucket); b.endpoint.Host != "s3.eu-north-1.amazonaws.com" || b.signer.region != "eu-north-1" {
		t.Errorf("got %s, %s", b.endpoint, b.signer.region)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, err := Open(Config{Store: "s3://bucket"}); err == nil || !strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("got %v", err)
	}
}

// TestSign proves that a request is signed as in the example that AWS publishes.
func TestSign(t *testing.T) {
	u, err := url.Parse("https://examplebucket.s3.amazonaws.com/test.txt")
	if err != nil {
		t.Fatal(err)
	}
	req := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"Range": {"bytes=0-9"}}}
	s := signer{region: "us-east-1", id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	s.sign(req, keyOf(nil), time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date," +
		"Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	if got := req.Header.Get("Authorization"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
