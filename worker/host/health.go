package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/internal/httpserver"
	"go.temporal.io/sdk/client"
)

const (
	// serverCheck is the interval of asking the Temporal server for its health, and the timeout of
	// one request. A worker is not ready once no answer has come for serverGone.
	serverCheck = 3 * time.Second
	serverGone  = 10 * time.Second
	// metricsRead bounds the arrival of a request for metrics or health, metricsWrite the time
	// until it is answered.
	metricsRead  = 5 * time.Second
	metricsWrite = 30 * time.Second
)

// health serves /metrics, /healthz (the process runs) and /readyz (every lane is polled, the
// Temporal server answers, and the worker is not stopping).
type health struct {
	server  *http.Server
	address string
	started atomic.Bool
	// cutOff is set while the Temporal server does not answer.
	cutOff atomic.Bool
}

func serveHealth(address string, registry *prometheus.Registry, logger *slog.Logger) (*health,
	error) {
	h := &health{}
	if address == "" {
		return h, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve metrics on %s: %w; choose another address with "+
			"--metrics-address", address, err)
	}
	h.address = listener.Addr().String()
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case !h.started.Load():
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		case h.cutOff.Load():
			http.Error(w, "not ready: the Temporal server does not answer",
				http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	h.server = httpserver.New(mux, httpserver.Limits{Read: metricsRead, Write: metricsWrite})
	go func() {
		if err := h.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("the metrics server stopped", "error", err)
		}
	}()
	return h, nil
}

func (h *health) setReady(ready bool) { h.started.Store(ready) }

func (h *health) isReady() bool { return h.started.Load() && !h.cutOff.Load() }

// follow asks the server for its health at every tick, until ctx ends, and makes the worker not
// ready while the server has not answered for gone.
func (h *health) follow(ctx context.Context, ask func(context.Context) error,
	ticks <-chan time.Time, gone time.Duration, logger *slog.Logger) {
	for answered := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		err := ask(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if answered = time.Now(); h.cutOff.Swap(false) {
				logger.Info("the Temporal server answers again")
			}
		case time.Since(answered) >= gone && !h.cutOff.Swap(true):
			logger.Warn("not ready: the Temporal server does not answer", "since", answered,
				"error", err)
		}
	}
}

// followServer follows the Temporal server until ctx ends, if the readiness is served.
func (h *health) followServer(ctx context.Context, conn client.Client, logger *slog.Logger) {
	if h.server == nil {
		return
	}
	ticker := time.NewTicker(serverCheck)
	defer ticker.Stop()
	h.follow(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, serverCheck)
		defer cancel()
		_, err := conn.CheckHealth(ctx, &client.CheckHealthRequest{})
		return connection.Silence(err)
	}, ticker.C, serverGone, logger)
}

func (h *health) close() {
	if h.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if h.server.Shutdown(ctx) != nil {
		h.server.Close()
	}
}
