package access

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// until waits until holds does.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatal("no ", what)
		}
	}
}

// Roles of a changed gateway.yaml hold at once. A file with a fault changes nothing, and changes of
// the console wait for a restart and are said.
func TestRoles_ChangeWithTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write("access: {roles: {viewer: [ada]}}\n")
	said := make(logged, 100)
	a, err := Open(path, Options{Listen: "127.0.0.1:0",
		Logger: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	roles := func(name string) string {
		p, err := a.Current(Identity{ID: name, Method: api.AuthOIDC})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(p.Roles)
	}
	if roles("ada") != "[viewer]" || roles("ben") != "[]" {
		t.Fatalf("ada has %s, ben %s", roles("ada"), roles("ben"))
	}
	write("access: {roles: {viewer: [ada], approver: [ben]}}\n")
	until(t, "role of ben", func() bool { return roles("ben") == "[approver]" })
	write("access: {roles: {viewer: 7}}\n")
	until(t, "message about the fault", func() bool {
		return strings.Contains(<-said, "the previous one stays in effect")
	})
	if roles("ada") != "[viewer]" || roles("ben") != "[approver]" {
		t.Errorf("with a fault: ada has %s, ben %s", roles("ada"), roles("ben"))
	}
	write("access: {roles: {operator: [ben]}}\nlimits: {burst: 7}\nconsole: {session: 2h}\n")
	until(t, "change of roles", func() bool { return roles("ben") == "[operator]" })
	until(t, "message about the restart", func() bool {
		return strings.Contains(<-said, "restart the gateway to apply that")
	})
	if a.Settings().limits.Burst != 7 || roles("ada") != "[]" {
		t.Errorf("the burst is %d, ada has %s", a.Settings().limits.Burst, roles("ada"))
	}
}

func TestEnter_BoundsEachPrincipal(t *testing.T) {
	c := newClock()
	a, err := New(loadSettings(t, "limits: {requests_per_second: 0.5, burst: 2}\n"),
		Options{Listen: "127.0.0.1:0", now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	for i, want := range []bool{true, true, false} {
		done, retry, ok := a.Enter("ada", http.MethodGet)
		if ok != want || !ok && retry != 2*time.Second {
			t.Errorf("request %d: %v, retry %v", i, ok, retry)
		}
		if ok {
			done()
		}
	}
	if _, _, ok := a.Enter("ben", http.MethodGet); !ok {
		t.Error("another principal has to wait")
	}
}
