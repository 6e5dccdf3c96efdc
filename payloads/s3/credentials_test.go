package s3

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// roleServer answers as the container metadata service and as the token service of AWS do.
func roleServer(t *testing.T) *httptest.Server {
	t.Helper()
	expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "container token" {
			_ = json.NewEncoder(w).Encode(map[string]string{"AccessKeyId": "container",
				"SecretAccessKey": "s", "Token": "t", "Expiration": expires})
			return
		}
		if r.FormValue("WebIdentityToken") == "web token" && r.FormValue("RoleArn") == "arn:role" {
			fmt.Fprintf(w,
				`<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">`+
					`<AssumeRoleWithWebIdentityResult>`+
					`<Credentials><AccessKeyId>web</AccessKeyId><SecretAccessKey>s</SecretAccessKey>`+
					`<SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials>`+
					`</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
				expires)
			return
		}
		http.Error(w, "no", http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	return server
}

// toServer sends every request to one server, whatever its host.
type toServer struct{ host string }

func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", s.host
	return http.DefaultTransport.RoundTrip(r)
}

func TestCredentials_FollowTheOrderOfAWS(t *testing.T) {
	server := roleServer(t)
	files := write(t, "credentials", "[default]\naws_access_key_id = file\naws_secret_access_key "+
		"= s\n"+
		"[other]\naws_access_key_id = other\naws_secret_access_key = s\n")
	keys := map[string]string{"AWS_ACCESS_KEY_ID": "static", "AWS_SECRET_ACCESS_KEY": "s"}
	web := map[string]string{"AWS_ROLE_ARN": "arn:role",
		"AWS_WEB_IDENTITY_TOKEN_FILE": write(t, "token", "web token")}
	profiles := map[string]string{"AWS_SHARED_CREDENTIALS_FILE": files}
	container := map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL,
		"AWS_CONTAINER_AUTHORIZATION_TOKEN": "container token"}
	for _, c := range []struct {
		name     string
		settings []map[string]string
		want     string
	}{
		{"static keys win", []map[string]string{keys, web, profiles, container}, "static"},
		{"web identity before profiles", []map[string]string{web, profiles, container}, "web"},
		{"profile before role", []map[string]string{profiles, container}, "file"},
		{"named profile", []map[string]string{profiles, {"AWS_PROFILE": "other"}}, "other"},
		{"role", []map[string]string{container}, "container"},
	} {
		clearEnvironment(t)
		for _, settings := range c.settings {
			for name, value := range settings {
				t.Setenv(name, value)
			}
		}
		source, err := credentialsFor("eu-central-1")
		if err != nil {
			t.Fatal(err)
		}
		value, err := source.GetWithContext(&credentials.CredContext{Context: t.Context(),
			Client: &http.Client{Transport: toServer{strings.TrimPrefix(server.URL, "http://")}}})
		if err != nil || value.AccessKeyID != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, value.AccessKeyID, err, c.want)
		}
	}
}

func TestCredentials_SayWhichSourceFailed(t *testing.T) {
	server := roleServer(t)
	_, endpoint := serve(t)
	for _, c := range []struct {
		name     string
		settings map[string]string
		want     string
	}{
		{"unknown profile", map[string]string{"AWS_PROFILE": "nowhere"},
			`profile "nowhere": open HOME/.aws/credentials: no such file or directory`},
		{"no token file", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere"},
			"web identity: open /nowhere: no such file or directory"},
		{"nothing", map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL},
			"default profile: open HOME/.aws/credentials: no such file or directory\nIAM role: 403 Forbidden"},
	} {
		clearEnvironment(t)
		for name, value := range c.settings {
			t.Setenv(name, value)
		}
		b := open(t, "s3://bucket?endpoint="+endpoint)
		_, err := b.Get(t.Context(), strings.Repeat("ab", 32))
		key := strings.Repeat("ab", 32)
		want := fmt.Sprintf("payload store %s: GET ab/%s: no AWS credentials: %s; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run with an IAM role",
			b, key, strings.ReplaceAll(c.want, "HOME", os.Getenv("HOME")))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v; want %s", c.name, err, want)
		}
	}
	clearEnvironment(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	if _, err := credentialsFor("x"); err == nil || err.Error() != "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither of them" {
		t.Errorf("an id without a secret: got %v", err)
	}
}
