package healthcheck_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/switchyard/switchyard/internal/healthcheck"
)

func TestAsk_AcceptsOnly200(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		healthy bool
	}{
		{"ready", http.StatusOK, true},
		{"not ready", http.StatusServiceUnavailable, false},
		{"another program", http.StatusNotFound, false},
		{"no content", http.StatusNoContent, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/readyz" {
						t.Errorf("path %q", r.URL.Path)
					}
					w.WriteHeader(c.status)
				}))
			defer server.Close()
			_, port, err := net.SplitHostPort(server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			for _, host := range []string{"127.0.0.1", "", "0.0.0.0", "::"} {
				address := net.JoinHostPort(host, port)
				if err := healthcheck.Ask(t.Context(), address, "/readyz"); (err == nil) != c.healthy {
					t.Errorf("%s: %v", address, err)
				}
			}
		})
	}
}

func TestAsk_RefusesWhatIsNoAddress(t *testing.T) {
	for _, address := range []string{"", "localhost", "host:1:2", "127.0.0.1:0"} {
		if healthcheck.Ask(t.Context(), address, "/healthz") == nil {
			t.Errorf("%q was accepted", address)
		}
	}
}
