package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/filelock"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/test/expect"
	"golang.org/x/oauth2"
)

// The environment of a child process: the MCP server to call, and the folder of its logins.
const (
	childServer = "LOGIN_TEST_CHILD_SERVER"
	childLogins = "LOGIN_TEST_CHILD_LOGINS"
)

// callOnce makes one call with the stored login and ends the process.
func callOnce(server string) {
	c, err := Connect(context.Background(), &Server{URL: server, Allow: []string{"127.0.0.1"},
		Auth: &outbound.Auth{Type: outbound.OAuth}},
		Options{Logins: NewLogins(os.Getenv(childLogins))})
	if err == nil {
		_, err = c.Call(context.Background(), Request{Tool: "echo",
			Arguments: json.RawMessage(`{"text":"a"}`)})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Authorization servers that rotate refresh tokens accept each one once, so processes that share a
// login must not refresh at the same time.
func TestLogin_ProcessesRefreshOneAtATime(t *testing.T) {
	const processes = 4
	g, entry := guarded(t)
	folder := filepath.Join(t.TempDir(), "logins")
	asked := 0
	echo(t, connect(t, entry, Options{Login: person(&asked), Logins: NewLogins(folder)}))
	g.Revoke(false)
	expire(t, folder)
	// The server answers when two processes ask at the same time, or after a while if they do not.
	var mu sync.Mutex
	asking, both := 0, make(chan struct{})
	g.OnToken = func(*http.Request) {
		mu.Lock()
		if asking++; asking == 2 {
			close(both)
		}
		mu.Unlock()
		select {
		case <-both:
		case <-time.After(time.Second):
		}
	}
	var children sync.WaitGroup
	for range processes {
		children.Go(func() {
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), childServer+"="+entry.URL, childLogins+"="+folder)
			if output, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
	children.Wait()
	if g.Refreshes() != 1 {
		t.Errorf("%d refreshes by %d processes", g.Refreshes(), processes)
	}
}

// expire makes the stored access token invalid by its time.
func expire(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	k.Token.Expiry = time.Now().Add(-time.Hour)
	if text, err = json.Marshal(k); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A call that waits for another process's refresh ends with its own context.
func TestLogin_WaitsForAnotherProcessWithinTheCallsContext(t *testing.T) {
	g, entry := guarded(t)
	folder := filepath.Join(t.TempDir(), "logins")
	asked := 0
	c := connect(t, entry, Options{Login: person(&asked), Logins: NewLogins(folder)})
	echo(t, c)
	expire(t, folder)
	c.login.account.load()
	unlock, err := filelock.Lock(t.Context(), c.login.account.path+".lock", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	over := errors.New("the call's time is over")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, over)
	defer cancel()
	_, err = c.Call(ctx, Request{Tool: "echo", Arguments: json.RawMessage(`{"text":"a"}`)})
	if ended, ok := errors.AsType[*Ended](err); !ok || ended.Sent || !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
	unlock()
	echo(t, c)
	if g.Refreshes() != 1 {
		t.Errorf("%d refreshes", g.Refreshes())
	}
}

// A refresh by a call whose context ends goes on, because its refresh token may be used up.
func TestLogin_RefreshOutlastsItsCall(t *testing.T) {
	g, entry := guarded(t)
	folder := filepath.Join(t.TempDir(), "logins")
	asked := 0
	c := connect(t, entry, Options{Login: person(&asked), Logins: NewLogins(folder)})
	echo(t, c)
	expire(t, folder)
	c.login.account.load()
	refreshing, goOn := make(chan struct{}), make(chan struct{})
	g.OnToken = func(*http.Request) { close(refreshing); <-goOn }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, Request{Tool: "echo", Arguments: json.RawMessage(`{"text":"a"}`)})
		ended <- err
	}()
	expect.Receive(t, "the refresh", refreshing)
	cancel()
	if err := expect.Receive(t, "the end of the call", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(goOn)
	echo(t, c)
	if g.Refreshes() != 1 {
		t.Errorf("%d refreshes", g.Refreshes())
	}
}

// A person who logs in while the old login is refreshed keeps the new one.
func TestAccount_KeepsALoginThatARefreshOverlaps(t *testing.T) {
	for name, other := range map[string]bool{"in this process": false, "in another process": true} {
		t.Run(name, func(t *testing.T) {
			a := &account{path: filepath.Join(t.TempDir(), "a.json"), turn: make(chan struct{}, 1)}
			old := kept{Token: &oauth2.Token{AccessToken: "a", RefreshToken: "old"}}
			if err := a.keep(old); err != nil {
				t.Fatal(err)
			}
			person := a
			if other {
				person = &account{path: a.path, turn: make(chan struct{}, 1)}
			}
			if err := person.keep(kept{Token: &oauth2.Token{AccessToken: "b",
				RefreshToken: "new"}}); err != nil {
				t.Fatal(err)
			}
			got := a.refreshed(old, &oauth2.Token{AccessToken: "c", RefreshToken: "rotated"})
			if got.RefreshToken != "new" {
				t.Errorf("the refresh returned %q", got.RefreshToken)
			}
			if stored, _ := a.stored(); stored.Token.RefreshToken != "new" {
				t.Errorf("the file has %q", stored.Token.RefreshToken)
			}
		})
	}
}

// A folder that only others may write to has no locks, and its logins can still be used.
func TestLockFile_GoesOnWithoutAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unlock, err := filelock.Lock(t.Context(), filepath.Join(file, "a.json.lock"), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
