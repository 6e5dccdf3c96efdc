package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/rclone/gofakes3"
	"github.com/switchyard/switchyard/payloads"
)

// TestMain shortens the pauses between attempts.
func TestMain(m *testing.M) {
	minio.DefaultRetryUnit = time.Millisecond
	os.Exit(m.Run())
}

// backend has the objects of a fake S3 service with one bucket, "bucket".
type backend struct {
	gofakes3.Backend // the methods below are the only ones that the service calls
	mu               sync.Mutex
	objects          map[string][]byte
}

func (s *backend) BucketExists(_ context.Context, name string) (bool, error) {
	return name == "bucket", nil
}

func (s *backend) PutObject(_ context.Context, _, key string, _ map[string]string, input io.Reader,
	_ int64) (gofakes3.PutObjectResult, error) {
	data, err := io.ReadAll(input)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = data
	return gofakes3.PutObjectResult{}, err
}

func (s *backend) GetObject(_ context.Context, _, key string,
	_ *gofakes3.ObjectRangeRequest) (*gofakes3.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.objects[key]
	if !ok {
		return nil, gofakes3.KeyNotFound(key)
	}
	return &gofakes3.Object{Name: key, Size: int64(len(data)),
		Metadata: map[string]string{"Last-Modified": lastModified},
		Contents: io.NopCloser(bytes.NewReader(data)), Hash: []byte{1}}, nil
}

// testSecret is the secret key that the fake service accepts.
const testSecret = "the secret/key"

// lastModified is a header that the client requires.
var lastModified = time.Unix(0, 0).UTC().Format(http.TimeFormat)

// clearEnvironment removes every credential and region of the environment.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_ROLE_ARN",
		"AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
}

// serve starts a fake S3 service that checks signatures. broken answers the first requests; the
// environment has the service's credentials.
func serve(t *testing.T, broken ...http.HandlerFunc) (*backend, string) {
	t.Helper()
	s := &backend{objects: map[string][]byte{}}
	service := gofakes3.New(s, gofakes3.WithV4Auth(map[string]string{"AKID": testSecret}),
		gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := requests.Add(1); n <= int64(len(broken)) {
			broken[n-1](w, r)
			return
		}
		service.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	clearEnvironment(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", testSecret)
	return s, server.URL
}

// A program that imports the package opens buckets by their URL.
func TestRegister_OpensBuckets(t *testing.T) {
	storage, err := payloads.Open(payloads.Config{
		Store: "s3://bucket/prefix?endpoint=http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	d := storage.External().Drivers[0]
	if d.Type() != "switchyard.s3" || d.Name() != "switchyard" {
		t.Errorf("got %s, %s", d.Type(), d.Name())
	}
}

func open(t *testing.T, text string) *bucket {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	b, err := openBucket(u)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func keyOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func busy(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "busy", http.StatusServiceUnavailable)
}

// cutOff answers with fewer bytes than it announces.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	w.Header().Set("Last-Modified", lastModified)
	_, _ = io.WriteString(w, "half")
}

func TestBucket_ReturnsWhatWasStoredAfterPassingFailures(t *testing.T) {
	for _, c := range []struct {
		name string
		size int
	}{{"empty", 0}, {"small", 100}, {"larger than one part", 20 << 20}} {
		objects, endpoint := serve(t, busy, busy)
		b := open(t, "s3://bucket/some/prefix/?region=eu-central-1&endpoint="+endpoint)
		data := bytes.Repeat([]byte("a"), c.size)
		key := keyOf(data)
		if err := b.Put(t.Context(), key, data); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := b.Get(t.Context(), key)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: got %d bytes, %v; want %d bytes", c.name, len(got), err, c.size)
		}
		if _, ok := objects.objects["some/prefix/"+key[:2]+"/"+key]; len(objects.objects) != 1 ||
			!ok {
			t.Errorf("%s: the service has %d objects", c.name, len(objects.objects))
		}
	}
}

func TestGet_ReadsAgainWhenTheAnswerBreaksOff(t *testing.T) {
	objects, endpoint := serve(t, cutOff, cutOff)
	data := []byte("whole")
	key := keyOf(data)
	objects.objects[key[:2]+"/"+key] = data
	got, err := open(t, "s3://bucket?endpoint="+endpoint).Get(t.Context(), key)
	if err != nil || string(got) != "whole" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestGet_SaysWhatFailedAndWhatToDo(t *testing.T) {
	_, endpoint := serve(t)
	moved := httptest.NewServer(http.RedirectHandler("http://elsewhere.example/",
		http.StatusTemporaryRedirect))
	defer moved.Close()
	tooMany := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer tooMany.Close()
	key := strings.Repeat("ab", 32)
	for _, c := range []struct{ name, store, secret, want string }{
		{"no object", "s3://bucket?endpoint=" + endpoint, testSecret,
			"the object does not exist (404 NoSuchKey: The specified key does not exist.): it was removed or is in another store; restore it or name that store"},
		{"no bucket", "s3://other?endpoint=" + endpoint, testSecret,
			"the bucket does not exist (404 NoSuchBucket: The specified bucket does not exist); create it or name another one"},
		{"wrong secret", "s3://bucket?endpoint=" + endpoint, "hunter2hunter2",
			"access is denied (403 SignatureDoesNotMatch: The request signature we calculated does not match the signature you provided. Check your key and signing method.); check the credentials, the region and the permissions GetObject and PutObject"},
		{"elsewhere", "s3://bucket?endpoint=" + moved.URL, "hunter2hunter2",
			`the bucket is in another region or service (307 307 Temporary Redirect: <a href="http://elsewhere.example/">Temporary Redirect</a>.); check region and endpoint`},
		{"too many requests", "s3://bucket?endpoint=" + tooMany.URL, "hunter2hunter2",
			"the service answers 429 Too Many Requests"},
		{"unreachable", "s3://bucket?endpoint=http://127.0.0.1:1", "hunter2hunter2",
			`Get "http://127.0.0.1:1/bucket/ab/` + key + `": dial tcp 127.0.0.1:1: connect: connection refused`},
	} {
		t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
		_, err := open(t, c.store).Get(t.Context(), key)
		if err == nil ||
			err.Error() != "payload store "+c.store+": GET ab/"+key+": "+c.want {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, "s3://bucket?endpoint="+tooMany.URL).Get(ctx, key); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

func TestOpen_RejectsWrongURLs(t *testing.T) {
	clearEnvironment(t)
	for _, c := range []struct{ store, want string }{
		{"s3://key:hunter2@bucket/", "a URL with credentials shows them in process lists and logs; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		{"s3://", `"s3:": write s3://bucket/prefix; each part of the prefix has letters, digits and . _ ~ - only`},
		{"s3://Bucket", `"s3://Bucket": write s3://bucket/prefix; each part of the prefix has letters, digits and . _ ~ - only`},
		{"s3://bucket/a b", `"s3://bucket/a%20b": write s3://bucket/prefix; each part of the prefix has letters, digits and . _ ~ - only`},
		{"s3://bucket/a//b", `"s3://bucket/a//b": write s3://bucket/prefix; each part of the prefix has letters, digits and . _ ~ - only`},
		{"s3://bucket?end_point=http://x", `"s3://bucket?end_point=http://x": unknown bucket setting "end_point" (did you mean "endpoint"?)`},
		{"s3://bucket?endpoint=x", `"s3://bucket?endpoint=x": the endpoint must be http://host:port or https://host:port`},
		{"s3://bucket?endpoint=http://x/y", `"s3://bucket?endpoint=http://x/y": the endpoint must be http://host:port or https://host:port`},
		{"s3://bucket?region=EU!", `"s3://bucket?region=EU!": "EU!" is not a region; write a name like eu-central-1`},
		{"s3://bucket?a=%zz", `"s3://bucket?a=%zz": invalid URL escape "%zz"`},
	} {
		u, err := url.Parse(c.store)
		if err != nil {
			t.Fatal(err)
		}
		_, err = openBucket(u)
		if err == nil || err.Error() != c.want ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", c.store, err)
		}
	}
}

func TestOpen_TakesTheRegionFromTheEnvironment(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("AWS_REGION", "eu-north-1")
	b := open(t, "s3://bucket")
	if got := b.client.EndpointURL().Host; got != "s3.eu-north-1.amazonaws.com" {
		t.Errorf("got %s", got)
	}
}
