package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// watched makes calls as another client until the returned function is called, which fails the test
// if one of them failed, and returns the longest one.
func (g *gatewayLab) watched(c *mcpClient) (stop func() time.Duration) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.ctx)
	var longest time.Duration
	calls, watching := 0, make(chan struct{})
	go func() {
		defer close(watching)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			text := fmt.Sprint("watched ", calls)
			began := time.Now()
			a, err := c.call(context.WithoutCancel(ctx), "glance", arguments("text", text), nil)
			longest = max(longest, time.Since(began))
			if calls++; err != nil || a.text() != fmt.Sprintf(`{"text":%q}`, text) {
				g.t.Errorf("another client: %v, %d %s", err, a.status, a.body)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	return func() time.Duration {
		g.t.Helper()
		cancel()
		<-watching
		g.t.Logf("another client made %d calls meanwhile, the longest took %v", calls,
			longest.Round(time.Millisecond))
		return longest
	}
}

// malformed are bodies that are no request of the protocol, or one that no tool can have.
var malformed = map[string]string{
	"nothing":           ``,
	"no JSON":           `{`,
	"null":              `null`,
	"a number":          `5`,
	"a text":            `"x"`,
	"an empty batch":    `[]`,
	"no version":        `{"id":1,"method":"ping"}`,
	"version 1.0":       `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
	"an object as id":   `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
	"a number as name":  `{"jsonrpc":"2.0","id":1,"method":5}`,
	"an unknown method": `{"jsonrpc":"2.0","id":1,"method":"foo/bar"}`,
	"no parameters":     `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
	"null parameters":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`,
	"a list of them":    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`,
	"no tool":           `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`,
	"an unknown tool":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"?"}}`,
	"an unknown task":   `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"?"}}`,
	"a long key": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note",` +
		`"arguments":{"text":"a"},"_meta":{"` + idempotencyKey + `":"` +
		strings.Repeat("k", 100_000) + `"}}}`,
	"deep arguments": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note",` +
		`"arguments":{"text":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}}`,
	"4 MiB and a byte": strings.Repeat(" ", 4<<20+1),
}

// ping is a valid message.
const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// What a client sends wrong is an error of its own request, in a session and without one.
func TestGateway_RefusesMalformedRequests(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	r := g.replica()
	key := g.apiKey("ada")
	stop := g.watched(g.older(r.Endpoint, g.apiKey("ben"), "watching"))
	c := g.older(r.Endpoint, key, "malformed")
	newest := g.client(r.Endpoint, key, "malformed")
	for _, name := range slices.Sorted(maps.Keys(malformed)) {
		for _, by := range []*mcpClient{c, newest} {
			if a := must(t)(by.post(g.ctx, []byte(malformed[name]))); !a.refused() {
				t.Errorf("%s: %d %.200s", name, a.status, a.body)
			}
		}
	}
	for name, headers := range map[string][]string{
		"Accept HTML":          {"Accept", "text/html"},
		"a text":               {"Content-Type", "text/plain"},
		"an unknown revision":  {"Mcp-Protocol-Version", "1999-01-01"},
		"another site":         {"Origin", "https://evil.example"},
		"another host":         {"Host", "evil.example"},
		"another method":       {"Mcp-Protocol-Version", newestRevision, "Mcp-Method", "tools/call"},
		"no method":            {"Mcp-Protocol-Version", newestRevision},
		"an unknown session":   {"Mcp-Session-Id", "nope"},
		"a changed session":    {"Mcp-Session-Id", c.session[:len(c.session)-2] + "AA"},
		"a session of 60 KB":   {"Mcp-Session-Id", strings.Repeat("x", 60_000)},
		"no session":           {"Mcp-Session-Id", ""},
		"two of Authorization": {"Authorization", "Bearer a, Bearer b"},
	} {
		if a := must(t)(c.post(g.ctx, []byte(ping), headers...)); !a.refused() {
			t.Errorf("%s: %d %.200s", name, a.status, a.body)
		}
	}
	for _, path := range []string{"/", "/mcp/none", "/mcp/a/b", "/operator/x"} {
		other := *c
		other.url = strings.TrimSuffix(c.url, "/mcp") + path
		if a := must(t)(other.request(g.ctx, "tools/list", nil, nil)); !a.refused() {
			t.Errorf("%s: %d %.200s", path, a.status, a.body)
		}
	}
	g.refusesChunks(c)
	if a := must(t)(c.call(g.ctx, "note", arguments("text", "afterwards"),
		nil)); a.text() != `{"text":"afterwards"}` {
		t.Errorf("afterwards: %s", a.body)
	}
	stop()
}

// refusesChunks sends a large body without its size.
func (g *gatewayLab) refusesChunks(c *mcpClient) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.ctx, http.MethodPost, c.url,
		io.LimitReader(endless{}, 5<<20))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Mcp-Session-Id", c.session)
	if a, err := c.send(req); err == nil && a.status != http.StatusRequestEntityTooLarge {
		g.t.Errorf("5 MiB without a size: %d %.200s", a.status, a.body)
	}
}

// endless is a body of spaces.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// A thousand requests of one principal at once are answered or told to come later. Those of others
// are answered.
func TestGateway_ServesOthersDuringAThousandParallelRequests(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	r := g.replica()
	crowd := g.older(r.Endpoint, g.apiKey("ada"), "crowd")
	stop := g.watched(g.older(r.Endpoint, g.apiKey("ben"), "watching"))
	crowd.http.Transport.(*http.Transport).DisableKeepAlives = true
	const requests = 1000
	answers := make([]mcpAnswer, requests)
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			var err error
			if answers[i], err = crowd.call(g.ctx, "glance", arguments("text", fmt.Sprint(i)),
				nil); err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	all.Wait()
	counts := map[int]int{}
	for i, a := range answers {
		counts[a.status]++
		switch {
		case a.status == http.StatusTooManyRequests && a.header.Get("Retry-After") != "":
		case a.text() != fmt.Sprintf(`{"text":"%d"}`, i):
			t.Errorf("request %d: %d %s", i, a.status, a.body)
		}
	}
	t.Logf("answers by status: %v", counts)
	if counts[http.StatusOK] < 100 {
		t.Errorf("%d requests were answered, want the burst of 100", counts[http.StatusOK])
	}
	stop()
}

// Clients that send slowly, or read nothing, are cut off in the end, and nobody waits for them.
func TestGateway_CutsOffSlowClients(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	r := g.replica()
	key := g.apiKey("ada")
	stop := g.watched(g.older(r.Endpoint, g.apiKey("ben"), "watching"))
	address, err := url.Parse(r.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n",
		address.Host, key)
	var all sync.WaitGroup
	for i := range 200 {
		sent, want := head+"X-Slow: ", "" // the headers do not end
		if i%4 == 0 && !testing.Short() {
			sent, want = head+"Content-Length: 100\r\n\r\n{", "HTTP/1.1 408 Request Timeout"
		}
		all.Go(func() {
			if got, err := slowly(g.ctx, address.Host, sent); err != nil || want != "" &&
				got != want {
				t.Errorf("a slow client got %q, %v", got, err)
			}
		})
	}
	all.Wait()
	if longest := stop(); longest > 10*time.Second {
		t.Errorf("another client waited %v", longest)
	}
}

// slowly sends the beginning of a request and returns the first line of the answer when the
// connection is closed.
func slowly(ctx context.Context, address, sent string) (line string, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, sent); err != nil {
		return "", err
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		return "", err
	}
	reader := bufio.NewReader(conn)
	line, err = reader.ReadString('\n')
	if err == io.EOF {
		return "", nil
	}
	if err == nil {
		_, err = io.Copy(io.Discard, reader)
	}
	return strings.TrimSpace(line), err
}
