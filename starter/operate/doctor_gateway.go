package operate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

const (
	// gatewayAnswers bounds each request to a gateway, gatewayBody the read part of its answer.
	gatewayAnswers = 10 * time.Second
	gatewayBody    = 1 << 20
	// clientKeyVariable has the API key of clients, as in the output of gateway connect.
	clientKeyVariable = "SWITCHYARD_API_KEY"
)

// gatewayRevision is the revision of MCP that the check speaks.
const gatewayRevision = "2025-11-25"

// gatewayCheck examines gateways from outside, as a client.
type gatewayCheck struct {
	key string
	web *http.Client
}

// checkGateways examines gateways and prints findings as they arrive.
func checkGateways(ctx context.Context, a *cli.App, addresses []string) error {
	d := &doctor{app: a}
	g := &gatewayCheck{key: os.Getenv(clientKeyVariable),
		web: &http.Client{Timeout: gatewayAnswers}}
	for _, address := range addresses {
		if err := d.print(g.examine(ctx, address)...); err != nil {
			return err
		}
	}
	return d.result()
}

// examine checks one gateway. After a finding that makes others meaningless it stops.
func (g *gatewayCheck) examine(ctx context.Context, address string) []finding {
	target, err := url.Parse(address)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return []finding{{markBad, fmt.Sprintf("%q is no address of a gateway", address),
			"write http://HOST:PORT/mcp"}}
	}
	ready := g.ready(ctx, target)
	if ready.Mark == markBad {
		return []finding{ready}
	}
	found := []finding{ready, transport(target), g.origin(ctx, address)}
	open := g.access(ctx, target)
	found = append(found, open)
	if open.Mark == markBad || g.key == "" && open.Text != openText(address) {
		return found
	}
	return append(found, g.tools(ctx, address))
}

// ready asks the gateway for its readiness.
func (g *gatewayCheck) ready(ctx context.Context, target *url.URL) finding {
	at := target.Scheme + "://" + target.Host
	got, err := g.send(ctx, http.MethodGet, at+"/readyz", "", nil)
	switch {
	case err != nil:
		return finding{markBad, fmt.Sprintf("no gateway answers at %s: %v", at, err),
			"start one: starter gateway"}
	case got.status == http.StatusNotFound:
		return finding{markBad, at + " is not a gateway of Switchyard: it has no /readyz",
			"check host and port"}
	case got.status != http.StatusOK:
		return finding{markBad, fmt.Sprintf("the gateway at %s is not ready: %v", at, got.failure()),
			"check its Temporal server"}
	}
	return finding{markGood, "the gateway at " + at + " is ready", ""}
}

// transport warns of unencrypted connections to other machines.
func transport(target *url.URL) finding {
	if target.Scheme == "https" || isLoopback(target.Hostname()) {
		return finding{markGood, "connections to " + target.Host + " are encrypted or local", ""}
	}
	return finding{markWarn, "connections to " + target.Host + " are not encrypted: keys and " +
		"tokens can be read on the way", "put TLS in front of the gateway"}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// origin checks that requests of foreign web pages are refused.
func (g *gatewayCheck) origin(ctx context.Context, address string) finding {
	got, err := g.send(ctx, http.MethodPost, address, "https://example.invalid",
		initialize())
	switch {
	case err != nil:
		return finding{markBad, fmt.Sprintf("%s: %v", address, err), ""}
	case got.status == http.StatusForbidden || got.status == http.StatusUnauthorized:
		return finding{markGood, "requests of foreign web pages are refused", ""}
	}
	return finding{markBad, fmt.Sprintf("a request of a foreign web page is answered with %d",
		got.status), "remove the proxy that drops the header Origin"}
}

func openText(address string) string {
	return address + " needs no authentication and is reached from this machine only"
}

// access checks what a client without credentials gets.
func (g *gatewayCheck) access(ctx context.Context, target *url.URL) finding {
	bare := *g
	bare.key = ""
	got, err := bare.send(ctx, http.MethodPost, target.String(), "",
		initialize())
	switch {
	case err != nil:
		return finding{markBad, fmt.Sprintf("%s: %v", target, err), ""}
	case got.status == http.StatusOK && isLoopback(target.Hostname()):
		return finding{markGood, openText(target.String()), ""}
	case got.status == http.StatusOK:
		return finding{markBad, target.String() + " answers clients without credentials",
			"set access.issuers or access.api_keys in gateway.yaml"}
	case got.status != http.StatusUnauthorized:
		return finding{markBad, fmt.Sprintf("%s answers a client without credentials with %d",
			target, got.status), "check the path, access.hosts and public_url"}
	}
	return g.metadata(ctx, target, got.header.Get("WWW-Authenticate"))
}

// metadata reads the metadata of RFC 9728 that a refusal names.
func (g *gatewayCheck) metadata(ctx context.Context, target *url.URL, refusal string) finding {
	refused := target.String() + " refuses clients without credentials"
	_, rest, named := strings.Cut(refusal, `resource_metadata="`)
	if !named {
		return finding{markGood, refused + " and names no issuer: clients need an API key", ""}
	}
	at, _, _ := strings.Cut(rest, `"`)
	var described struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	got, err := g.send(ctx, http.MethodGet, at, "", nil)
	if err == nil {
		err = json.Unmarshal(got.body, &described)
	}
	if err != nil || got.status != http.StatusOK || described.Resource == "" {
		return finding{markBad, fmt.Sprintf("the metadata for clients at %s cannot be read: %v",
			at, err), "check public_url in gateway.yaml and the paths that the proxy forwards"}
	}
	return finding{markGood, fmt.Sprintf("%s; its metadata names %s, issued by %s", refused,
		described.Resource, cmp.Or(strings.Join(described.Servers, ", "), "no issuer")), ""}
}

// tools connects and lists the tools.
func (g *gatewayCheck) tools(ctx context.Context, address string) finding {
	got, err := g.send(ctx, http.MethodPost, address, "", initialize())
	if err == nil && got.status != http.StatusOK {
		err = got.failure()
	}
	if err != nil {
		return finding{markBad, fmt.Sprintf("a client cannot connect to %s: %v", address, err),
			"check the key in " + clientKeyVariable}
	}
	got, err = g.send(ctx, http.MethodPost, address, "", rpc("tools/list", `{}`), "Mcp-Session-Id",
		got.header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", gatewayRevision)
	var answer struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
		Error json.RawMessage `json:"error"`
	}
	if err == nil && (json.Unmarshal(extractMessage(got.body), &answer) != nil ||
		got.status != http.StatusOK || answer.Error != nil) {
		err = got.failure()
	}
	if err != nil {
		return finding{markBad, fmt.Sprintf("%s does not list its tools: %v", address, err), ""}
	}
	return finding{markGood, "a client gets " + display.Plural(len(answer.Result.Tools), "tool"), ""}
}

// gatewayAnswer is the answer to a request.
type gatewayAnswer struct {
	status int
	header http.Header
	body   []byte
}

func (g *gatewayAnswer) failure() error {
	return fmt.Errorf("it answers %d: %s", g.status,
		display.Shorten(strings.TrimSpace(string(g.body)), 200))
}

// send sends a request, with the key if there is one. headers are further names and values.
func (g *gatewayCheck) send(ctx context.Context, method, address, origin string, body []byte,
	headers ...string) (*gatewayAnswer, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	if g.key != "" {
		r.Header.Set("Authorization", "Bearer "+g.key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	got, err := g.web.Do(r)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	data, err := io.ReadAll(io.LimitReader(got.Body, gatewayBody))
	return &gatewayAnswer{got.StatusCode, got.Header, data}, err
}

// extractMessage returns the JSON of an answer, which may be a stream of events with one message.
func extractMessage(body []byte) []byte {
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && len(data) > 2 {
			return data
		}
	}
	return body
}

func initialize() []byte {
	return rpc("initialize", `{"protocolVersion":"`+gatewayRevision+`","capabilities":{},`+
		`"clientInfo":{"name":"switchyard-doctor","version":"1"}}`)
}

func rpc(method, params string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}
