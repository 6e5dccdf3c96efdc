package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/starter/cli"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"
)

const codecToken = "a-token-of-the-test"

// codecFor runs 'starter codec' with keys and returns its address without the token, and an
// encrypted payload.
func codecFor(t *testing.T) (endpoint string, sealed []byte) {
	t.Helper()
	t.Setenv("TEST_CODEC_KEY", payloads.NewKey())
	t.Setenv(codecVariable, codecToken)
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(keys, []byte("active: k\nkeys: {k: env:TEST_CODEC_KEY}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	storage, err := payloads.Open(payloads.Config{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	var o client.Options
	if err := storage.Apply(&o); err != nil {
		t.Fatal(err)
	}
	list, err := o.DataConverter.ToPayloads("the text")
	if err != nil {
		t.Fatal(err)
	}
	if sealed, err = protojson.Marshal(list); err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		ended <- operateProgram.Run(ctx, []string{"codec", "--listen", "127.0.0.1:0",
			"--payload-keys", keys, "--allow-origin", "http://ui.example", "--output", "json"},
			cli.Stdio{In: strings.NewReader(""), Out: in, Err: io.Discard})
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != cli.ExitDone {
			t.Errorf("exit code %d", code)
		}
	})
	var ready codecReady
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	endpoint, ok := strings.CutSuffix(ready.Endpoint, "/"+codecToken)
	if !ok || len(ready.Origins) != 1 {
		t.Fatalf("it says %+v", ready)
	}
	return endpoint, sealed
}

func TestCodec_HealthAsksTheServerWithoutAToken(t *testing.T) {
	endpoint, _ := codecFor(t)
	serving := strings.TrimPrefix(endpoint, "http://")
	for address, want := range map[string]int{serving: cli.ExitDone, "127.0.0.1:1": cli.ExitFailed} {
		var out, errs strings.Builder
		code := operateProgram.Run(t.Context(), []string{"codec", "--health", "--listen", address},
			cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != want || (out.String() == "ready\n") != (want == cli.ExitDone) {
			t.Errorf("%s: exit code %d, %q, %q", address, code, out.String(), errs.String())
		}
	}
}

// The token is accepted in each form, only pages of the Web UI may call the server, and it does not
// encode.
func TestCodec_DecodesWithTheTokenOnly(t *testing.T) {
	endpoint, sealed := codecFor(t)
	const origin = "http://ui.example"
	for _, c := range []struct {
		name, method, path, bearer, origin string
		code                               int
	}{
		{"token in the path", http.MethodPost, "/" + codecToken + "/decode", "", "", http.StatusOK},
		{"token in a header", http.MethodPost, "/decode", "Bearer " + codecToken, "",
			http.StatusOK},
		{"the Web UI", http.MethodPost, "/" + codecToken + "/decode", "", origin, http.StatusOK},
		{"the Web UI asks first", http.MethodOptions, "/" + codecToken + "/decode", "", origin,
			http.StatusNoContent},
		{"another page", http.MethodPost, "/" + codecToken + "/decode", "", "http://evil.example",
			http.StatusForbidden},
		{"another page asks first", http.MethodOptions, "/decode", "", "null",
			http.StatusForbidden},
		{"no token", http.MethodPost, "/decode", "", "", http.StatusUnauthorized},
		{"wrong token", http.MethodPost, "/" + codecToken + "x/decode", "Bearer x", "",
			http.StatusUnauthorized},
		{"encode", http.MethodPost, "/" + codecToken + "/encode", "", "", http.StatusNotFound},
		{"deeper", http.MethodPost, "/" + codecToken + "/x/decode", "", "", http.StatusNotFound},
		{"get", http.MethodGet, "/" + codecToken + "/decode", "", "", http.StatusNotFound},
		{"nothing to download", http.MethodPost, "/" + codecToken + "/download", "", "",
			http.StatusBadRequest},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, endpoint+c.path,
			bytes.NewReader(sealed))
		if err != nil {
			t.Fatal(err)
		}
		if c.bearer != "" {
			req.Header.Set("Authorization", c.bearer)
		}
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		allowed := response.Header.Get("Access-Control-Allow-Origin")
		if response.StatusCode != c.code || (allowed == origin) != (c.origin == origin) ||
			strings.Contains(string(body), codecToken) {
			t.Errorf("%s: %s, pages of %q may read it: %s", c.name, response.Status, allowed, body)
		}
		var list commonpb.Payloads
		if c.code == http.StatusOK && (protojson.Unmarshal(body, &list) != nil ||
			string(list.GetPayloads()[0].GetData()) != `"the text"`) {
			t.Errorf("%s: it answers %s", c.name, body)
		}
	}
}

// It does not start without keys, with a token that can be guessed, or on an address in use.
func TestCodec_RefusesUnsafeConfigurations(t *testing.T) {
	endpoint, _ := codecFor(t)
	const help = "\nSee 'starter codec --help'."
	const noToken = "SWITCHYARD_CODEC_TOKEN is not a token: at least 16 characters that are valid in a path" + help
	used := strings.TrimPrefix(endpoint, "http://")
	for _, c := range []struct{ args, token, want string }{
		{"codec", "", "no payload codec is set: pass --payload-keys, --payload-store or --payload-compression like the workers" + help},
		{"codec --payload-compression zstd", "short", noToken},
		{"codec --payload-compression zstd", "a/token/with/slashes",
			noToken},
		{"codec --payload-compression gzip", "", `--payload-compression "gzip": choose zstd or none`},
		{"codec --payload-compression zstd --listen " + used, "", "--listen " + used +
			": listen tcp " + used + ": bind: address already in use"},
		{"codec --payload-compression zstd --listen 127.0.0.1:99999", "",
			"--listen 127.0.0.1:99999: listen tcp: address 99999: invalid port"},
	} {
		t.Setenv(codecVariable, c.token)
		if code, stdout, stderr := runOperate(t,
			strings.Fields(c.args)...); code != cli.ExitUsage || stderr != "starter: "+c.want+"\n" || stdout != "" {
			t.Errorf("%s: exit code %d, %s%s", c.args, code, stdout, stderr)
		}
	}
}

// The payload is printed as text or JSON. The error for a missing one names the file.
func TestPayload_PrintsStoredPayloads(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SWITCHYARD_PAYLOAD_STORE", "file://"+dir)
	storage, err := payloads.Open(payloads.FromEnvironment(os.Getenv))
	if err != nil {
		t.Fatal(err)
	}
	reference, err := storage.Keep(t.Context(), json.RawMessage(`"two\nlines"`))
	if err != nil {
		t.Fatal(err)
	}
	none := "sha256:" + strings.Repeat("ab", 32)
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"payload " + reference, cli.ExitDone, "two\nlines\n", ""},
		{"payload --output json " + reference, cli.ExitDone, `"two\nlines"` + "\n", ""},
		{"payload " + none, cli.ExitFailed, "", fmt.Sprintf("starter: a payload cannot be read: payload store file://%s has no file %s: it was removed or is in another store; restore it or name that store\n", dir, filepath.Join(dir, "ab", strings.Repeat("ab", 32)))},
		{"payload x", cli.ExitFailed, "", "starter: a payload cannot be read: \"x\" is not a reference to a payload; one is the 64 hex digits of a SHA-256\n"},
		{"payload", cli.ExitUsage, "", "starter: REFERENCE is missing\nSee 'starter payload --help'.\n"},
	} {
		code, stdout, stderr := runOperate(t, strings.Fields(c.args)...)
		if code != c.code || c.stdout != "" && stdout != c.stdout || stderr != c.stderr {
			t.Errorf("%s: exit code %d, %q, %s", c.args, code, stdout, stderr)
		}
	}
}

// runOperate runs one command line in this process.
func runOperate(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	code = operateProgram.Run(t.Context(), args, cli.Stdio{In: strings.NewReader(""), Out: &out,
		Err: &err})
	return code, out.String(), err.String()
}
