package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/switchyard/switchyard/api"
)

const (
	idleLanes   = 100
	idleWorkers = 20
	// idleFor is how long the requests of idle workers are counted: as long as a poll of the server
	// lasts, so that each counts once.
	idleFor = time.Minute
)

// measureIdleLanes counts the requests of idle workers that serve lanes with limits.
func measureIdleLanes(ctx context.Context, l *lab) (map[string]float64, error) {
	return l.idleLanes(ctx, idleLanes, idleWorkers, idleFor)
}

func (l *lab) idleLanes(ctx context.Context, lanes, workers int,
	window time.Duration) (map[string]float64, error) {
	rules, names := "lanes:\n", []string{api.LaneGeneral}
	for i := range lanes {
		names = append(names, fmt.Sprintf("lane%d", i))
		rules += fmt.Sprintf("  lane%d: {limit: 4}\n", i)
	}
	var rate float64
	err := l.onMeteredServer(ctx, rules, func(ctx context.Context, m metered, y *yard) error {
		for range workers {
			if _, err := y.start(names...); err != nil {
				return err
			}
		}
		err := y.awaitServed(ctx)
		if err == nil {
			rate, err = m.requestRate(ctx, window)
		}
		return err
	})
	return map[string]float64{"idle_lane_requests_per_s": rate}, err
}

// onMeteredServer starts a server with metrics and a yard with the lanes of rules and the tool
// payload on each named lane, and calls measure.
func (l *lab) onMeteredServer(ctx context.Context, rules string,
	measure func(context.Context, metered, *yard) error, names ...string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	server, address, err := startServer(l.bin, "--metrics-port", port)
	if err != nil {
		return err
	}
	defer server.end(syscall.SIGTERM)
	c, err := client.Dial(client.Options{HostPort: address,
		Logger: tlog.NewStructuredLogger(quiet)})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, y, err := newYard(ctx, &lab{client: c, address: address}, rules, names...)
	if err != nil {
		return err
	}
	defer y.close()
	return measure(ctx, metered{"http://127.0.0.1:" + port + "/metrics"}, y)
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}

// metered reads the metrics of a server.
type metered struct{ url string }

// openPolls returns the number of open long polls of the namespace, once it is stable for two
// seconds. The server records it at the start of each poll.
func (m metered) openPolls(ctx context.Context) (float64, error) {
	last := -1.0
	for {
		polls, err := m.sum(ctx, "service_pending_requests{")
		if err != nil || polls == last {
			return polls, err
		}
		last = polls
		if err := wait(ctx, 2*time.Second); err != nil {
			return 0, err
		}
	}
}

// requestRate returns the requests per second that the frontend receives within a time.
func (m metered) requestRate(ctx context.Context, window time.Duration) (float64, error) {
	const requests = "service_requests{"
	before, err := m.sum(ctx, requests)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := wait(ctx, window); err != nil {
		return 0, err
	}
	took := time.Since(began)
	after, err := m.sum(ctx, requests)
	return (after - before) / took.Seconds(), err
}

// sum adds the samples of the frontend and the default namespace whose line has a prefix. That a
// server has none is an error.
func (m metered) sum(ctx context.Context, prefix string) (sum float64, err error) {
	text, err := m.read(ctx)
	if err != nil {
		return 0, err
	}
	found := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, prefix) || !strings.Contains(line, `namespace="default"`) ||
			!strings.Contains(line, `service_name="frontend"`) {
			continue
		}
		found = true
		value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]),
			64)
		if err != nil {
			return 0, fmt.Errorf("read %q of %s: %w", line, m.url, err)
		}
		sum += value
	}
	if !found {
		return 0, fmt.Errorf("%s has no %s of the frontend", m.url, strings.TrimSuffix(prefix, "{"))
	}
	return sum, nil
}

// read returns the server's metrics.
func (m metered) read(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
