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
)

// health serves /metrics, /healthz (the process runs) and /readyz (every lane is polled and the
// worker is not stopping).
type health struct {
	server  *http.Server
	address string
	ready   atomic.Bool
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
		if !h.ready.Load() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := h.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("the metrics server stopped", "error", err)
		}
	}()
	return h, nil
}

func (h *health) setReady(ready bool) { h.ready.Store(ready) }

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
