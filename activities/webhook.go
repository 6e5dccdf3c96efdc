package activities

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/outbound"
)

// Headers of webhook requests. The signature is sha256= followed by the hexadecimal HMAC-SHA256 of
// the timestamp, a dot and the body. The timestamp is the send time in seconds since 1970;
// receivers reject old ones to prevent replays.
const (
	headerTimestamp = "X-Switchyard-Timestamp"
	headerSignature = "X-Switchyard-Signature"
)

// webhookTimeout bounds one request; the run gives an attempt slightly more time.
const webhookTimeout = 10 * time.Second

// Webhook configures the endpoint that is notified of calls that wait for approval. The zero value
// disables it.
type Webhook struct {
	// URL is an http or https URL, or env:NAME. Requests go only to its host, which may be any, and
	// redirects are not followed.
	URL string
	// Secret is a reference, env:NAME or file:/path, to the signing key. It is read for each
	// request.
	Secret string
	// Format is that of the body: json (the default), slack, teams, or template:FILE.
	Format string
	// Console is the address of the gateway with the console; empty for notices without links.
	Console string
	// LinkKey is a reference to the key that signs links to decisions; empty for none of these.
	// LinkTo says who reads the notices; default the host of URL.
	LinkKey, LinkTo string
}

func (w Webhook) set() bool { return w.URL != "" }

// Check returns what is wrong with a webhook's configuration, by the flags that set it; nil if it
// is valid. Referenced values must exist, so that a mistake shows at start and not when the first
// call waits.
func (w Webhook) Check() error {
	switch {
	case w == Webhook{}:
		return nil
	case !w.set() && w.Secret != "":
		return errors.New("--approval-webhook-secret is given and --approval-webhook is not: name the URL, too")
	case !w.set():
		return errors.New("flags about notices are given and --approval-webhook is not: name the URL, too")
	}
	faults := []error{nil, nil, w.checkFormat(), w.checkLinks()}
	if _, err := w.address(); err != nil {
		faults[0] = fmt.Errorf("--approval-webhook: %w", err)
	}
	if w.Secret == "" {
		faults[1] = errors.New(
			"--approval-webhook-secret is missing: it names what signs the requests; " +
				outbound.HintSecret)
	} else if _, err := outbound.SecretHere(w.Secret); err != nil {
		faults[1] = fmt.Errorf("--approval-webhook-secret: %w", err)
	}
	return errors.Join(faults...)
}

// address returns the URL, which may come from the environment.
func (w Webhook) address() (*url.URL, error) {
	address := w.URL
	if outbound.IsReference(address) {
		value, err := outbound.SecretHere(address)
		if err != nil {
			return nil, err
		}
		address = value
	}
	return webhookURL(address)
}

// webhookURL parses the URL. Its error does not quote the URL, because webhook URLs contain
// secrets.
func webhookURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it cannot be read as a URL")
	}
	if err := outbound.CheckURL(u); err != nil {
		return nil, fmt.Errorf("%w; write a URL such as https://chat.example.com/hook, or env:NAME",
			err)
	}
	return u, nil
}

// Notify sends a notice to the webhook. All of its errors are retryable, because another worker may
// have the webhook or the secret. No error contains the URL or the secret.
func (a *Activities) Notify(ctx context.Context, n api.Notice) error {
	w := a.config.Webhook
	if !w.set() {
		return errors.New("this worker has no webhook; start all workers with the same --approval-webhook")
	}
	n.Command = people.NoticeCommand(n)
	var err error
	if n.Links, err = w.links(n, time.Now()); err != nil {
		return err
	}
	body, err := w.body(n)
	if err != nil {
		return fmt.Errorf("the notice cannot be written: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	request, err := w.request(ctx, body, time.Now())
	if err != nil {
		return err
	}
	return send(request)
}

// request returns the signed request with a body.
func (w Webhook) request(ctx context.Context, body []byte, now time.Time) (*http.Request, error) {
	u, err := w.address()
	if err != nil {
		return nil, fmt.Errorf("the webhook's URL on this worker: %w", err)
	}
	secret, err := outbound.SecretText(w.Secret)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(),
		bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the webhook's URL makes no request")
	}
	timestamp := strconv.FormatInt(now.Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "switchyard")
	request.Header.Set(headerTimestamp, timestamp)
	request.Header.Set(headerSignature, signature(secret, timestamp, body))
	return request, nil
}

func signature(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// send sends a request to its own host and requires a success status.
func send(request *http.Request) error {
	guard, err := outbound.NewGuard(outbound.Policy{Allow: []string{request.URL.Hostname()}})
	if err != nil {
		return errors.New("the webhook's URL names no host that can be reached")
	}
	client := http.Client{Transport: guard.Transport(), CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
	response, err := client.Do(request)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the URL
		}
		return fmt.Errorf("the webhook cannot be reached: %s", executor.ValidText(err.Error()))
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxIgnored))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the webhook answered with the status %d", response.StatusCode)
	}
	return nil
}

// maxIgnored bounds how much of an ignored response body is read, in bytes.
const maxIgnored = 64 << 10
