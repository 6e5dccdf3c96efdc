package activities

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// planted is a secret that must not appear anywhere.
const planted = "planted-webhook-secret"

// received returns the body of a webhook request if its signature is valid.
func received(t *testing.T, r *http.Request) api.Notice {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	timestamp := r.Header.Get("X-Switchyard-Timestamp")
	mac := hmac.New(sha256.New, []byte(planted))
	mac.Write([]byte(timestamp + "." + string(body)))
	if got, want := r.Header.Get("X-Switchyard-Signature"), "sha256="+
		hex.EncodeToString(mac.Sum(nil)); !reflect.DeepEqual(got, want) {
		t.Errorf("the signature is %q, want %q", got, want)
	}
	if sent, err := strconv.ParseInt(timestamp, 10, 64); err != nil ||
		time.Since(time.Unix(sent, 0)).Abs() > time.Minute {
		t.Errorf("the timestamp is %q", timestamp)
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
		strings.Contains(string(body), planted) {
		t.Errorf("the request is %s with %v and %s", r.Method, r.Header, body)
	}
	var n api.Notice
	if err := json.Unmarshal(body, &n); err != nil {
		t.Errorf("the body is %s: %v", body, err)
	}
	return n
}

// A request is repeated until it is accepted. The secret comes from a file or the environment, the
// URL too, and the body says what waits and which command decides.
func TestNotify_SendsSignedRequests(t *testing.T) {
	t.Setenv("SWITCHYARD_TEST_SECRET", planted)
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(planted+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var requests []api.Notice
	url := serveWebhook(t, func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, received(t, r))
		if len(requests) < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}) + "/hook?channel=1"
	t.Setenv("SWITCHYARD_TEST_HOOK", url)
	sent := api.Notice{Event: api.NoticeWaiting, At: time.Unix(1e9, 0).UTC(), WorkflowID: "it's",
		Run: "r", Call: "1.1", Tool: "pay", Text: "Pay ***?",
		Reason: "the tool asks", Rule: "big", Digest: "d", Until: time.Unix(2e9, 0).UTC()}
	want := sent
	want.Command = `starter approve 'it'\''s' 1.1`
	for _, w := range []Webhook{{URL: url, Secret: "file:" + file},
		{URL: "env:SWITCHYARD_TEST_HOOK", Secret: "env:SWITCHYARD_TEST_SECRET"}} {
		if err := w.Check(); err != nil {
			t.Fatal(err)
		}
		requests = nil
		b := setUp(t, catalogOf(t, spec("pay", nil)), func(c *Config) { c.Webhook = w })
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		env.RegisterActivityWithOptions(b.Notify,
			activity.RegisterOptions{Name: api.NotifyApprovalActivity})
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			ctx = workflow.WithActivityOptions(ctx,
				workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
			return workflow.ExecuteActivity(ctx, api.NotifyApprovalActivity, sent).Get(ctx, nil)
		})
		if err := env.GetWorkflowError(); err != nil || len(requests) != 3 {
			t.Fatalf("%d requests, %v", len(requests), err)
		}
		for _, got := range requests {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	}
}

// They may be retried, and a redirect is not followed.
func TestNotifyFailures_HideURLAndSecret(t *testing.T) {
	t.Setenv("SWITCHYARD_TEST_SECRET", planted)
	elsewhere := serveWebhook(t, func(http.ResponseWriter,
		*http.Request) {
		t.Error("a redirect was followed")
	})
	moved := serveWebhook(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	})
	const secret = "env:SWITCHYARD_TEST_SECRET"
	for name, tt := range map[string]struct {
		webhook Webhook
		want    string
	}{
		"none":     {Webhook{}, "this worker has no webhook; start all workers with the same --approval-webhook"},
		"redirect": {Webhook{URL: moved + "/private-path", Secret: secret}, "the webhook answered with the status 307"},
		"no server": {Webhook{URL: "http://127.0.0.1:1/private-path", Secret: secret},
			"the webhook cannot be reached: dial tcp 127.0.0.1:1: connect: connection refused"},
		"no secret": {Webhook{URL: moved, Secret: "env:SWITCHYARD_TEST_NONE"},
			"precondition_failed: the secret env:SWITCHYARD_TEST_NONE is not set on this worker"},
		"no address": {Webhook{URL: "env:SWITCHYARD_TEST_NONE", Secret: secret},
			"the webhook's URL on this worker: the secret env:SWITCHYARD_TEST_NONE is not set"},
		"bad": {Webhook{URL: secret, Secret: secret}, "the webhook's URL on this worker: the URL must begin with http:// or https://; write a URL such as https://chat.example.com/hook, or env:NAME"},
	} {
		b := setUp(t, catalogOf(t, spec("pay", nil)), func(c *Config) { c.Webhook = tt.webhook })
		err := b.Notify(t.Context(), api.Notice{Event: api.NoticeWaiting})
		if err == nil || err.Error() != tt.want || strings.Contains(err.Error(),
			"private") || strings.Contains(err.Error(), planted) {
			t.Errorf("%s: got %v", name, err)
		}
		if e, ok := errors.AsType[*temporal.ApplicationError](err); ok && e.NonRetryable() {
			t.Errorf("%s cannot be tried again", name)
		}
	}
}

// A webhook without a secret, with a missing secret or URL, or with a literal secret is refused
// without repeating the value.
func TestWebhook_RefusesInvalidConfigurations(t *testing.T) {
	t.Setenv("X", planted)
	t.Setenv("HOOK", "https://x/y")
	for _, w := range []Webhook{{URL: "https://x"}, {Secret: "env:X"},
		{URL: "https://x", Secret: planted}, {URL: "https://user:" + planted + "@x",
			Secret: "env:X"},
		{URL: "ftp://" + planted, Secret: "env:X"}, {URL: "http://%zz" + planted, Secret: "env:X"},
		{URL: "env:NOT_SET", Secret: "env:X"}, {URL: "https://x", Secret: "env:NOT_SET"}} {
		if err := w.Check(); err == nil || strings.Contains(err.Error(), planted) {
			t.Errorf("%+v: %v", w, err)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(planted), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, w := range []Webhook{{}, {URL: "https://x/y?z=1", Secret: "env:X"},
		{URL: "env:HOOK", Secret: "file:" + secret}} {
		if err := w.Check(); err != nil {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

// Decisions and limits request the notification exactly if the deciding worker has a webhook.
func TestDecisions_NotifyIfAWebhookIsConfigured(t *testing.T) {
	for _, w := range []Webhook{{}, {URL: "https://x", Secret: "env:X"}} {
		catalog := catalogOf(t,
			spec("pay", func(s *toolspecs.Spec) { s.Approval = &toolspecs.Approval{} }))
		b := setUp(t, catalog, func(c *Config) { c.Webhook = w })
		decisions, err := b.Admission.Admit(t.Context(), api.AdmissionRequest{
			Tools: toolsOf(catalog), Known: []string{"pay"},
			Calls: []api.Call{{ID: "2.1", Tool: "pay", Arguments: `{"text":"a"}`}}})
		if err != nil || len(decisions) != 1 {
			t.Fatalf("got %+v, %v", decisions, err)
		}
		limit, err := b.Admission.Limit(t.Context(), api.LimitRequest{Limit: "calls"})
		if need := decisions[0].Approval; need == nil || err != nil || need.Notify != w.set() ||
			limit.Notify != w.set() {
			t.Errorf("with %+v: %+v, %+v, %v", w, decisions[0], limit, err)
		}
	}
}

// serveWebhook serves handle on loopback.
func serveWebhook(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}
