package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.temporal.io/server/common/dynamicconfig"
)

func TestKnownHost_RejectsOtherNames(t *testing.T) {
	t.Parallel()
	names := []string{localhost, "devbox", "devbox.example.com"}
	for header, want := range map[string]bool{
		"localhost": true, "LOCALHOST:8233": true, "localhost.": true, "a.localhost:80": true,
		"127.0.0.1": true, "127.0.0.1:8233": true, "[::1]": true, "[::1]:8233": true,
		"192.168.1.4:8233": true, "DevBox:8233": true, "devbox.example.com": true,
		"": false, "evil.example": false, "evil.example:8233": false, "devbox.evil.example": false,
		"127.0.0.1.evil.example": false, "localhost.evil.example:8233": false,
		"evillocalhost": false,
	} {
		if got := knownHost(header, names); got != want {
			t.Errorf("%q: %t, want %t", header, got, want)
		}
	}
}

func TestHTTPHosts_AreLimitedUnlessTheyAreGiven(t *testing.T) {
	t.Parallel()
	key := dynamicconfig.MakeKey(httpHosts)
	for ip, host := range map[string]string{"127.0.0.1": "127.0.0.1", "0.0.0.0": "127.0.0.1",
		"::1": "[::1]", "::": "[::1]", "10.1.2.3": "10.1.2.3"} {
		tuning := dynamicconfig.StaticClient{}
		limitHTTPHosts(tuning, netip.MustParseAddr(ip))
		allowed, err := dynamicconfig.ConvertWildcardStringListToRegexp(tuning[key])
		if err != nil {
			t.Fatal(err)
		}
		for header, want := range map[string]bool{host + ":7243": true, "evil.example": false,
			host + ".evil.example:7243": false, "evil." + host + ":7243": false,
			"localhost.evil.example": false} {
			if got := allowed.MatchString(header); got != want {
				t.Errorf("--ip %s, host %s: %t, want %t", ip, header, got, want)
			}
		}
	}
	given := dynamicconfig.StaticClient{key: []any{"*"}}
	limitHTTPHosts(given, loopback)
	if got := fmt.Sprint(given[key]); got != "[*]" {
		t.Errorf("the given hosts are replaced by %s", got)
	}
}

// Pages and API answer under the names of this machine only, and the files of the database belong
// to their owner.
func TestServer_AnswersKnownHostsAndKeepsFilesPrivate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new folder", "runs.db")
	p := start(t, "--port", "0", "--db-filename", file, "--ui-host", "DevBox.example.com")
	address, err := url.Parse(p.ready.UI)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{address.Host: http.StatusOK, "localhost": http.StatusOK,
		"devbox.example.com:" + address.Port(): http.StatusOK, "evil.example": http.StatusForbidden,
		"evil.example:" + address.Port(): http.StatusForbidden} {
		for _, path := range []string{"/", "/api/v1/settings", "/api/v1/namespaces"} {
			if code, body := getAs(t, host, p.ready.UI+path); code != want {
				t.Errorf("%s of host %s: %d, want %d: %.200s", path, host, code, want, body)
			}
		}
	}
	_, body := getAs(t, "evil.example", p.ready.UI)
	const message = `the host "evil.example" is not known: open the Web UI as localhost or by an IP address, or start devserver with --ui-host and this name`
	if strings.TrimSpace(body) != message {
		t.Errorf("got %s\nwant %s", body, message)
	}
	err = filepath.WalkDir(filepath.Dir(file), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	p.endCleanly(t)
}

// getAs sends a request with a Host header.
func getAs(t *testing.T, host, url string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// A user that /etc/passwd lacks, without $USER and $HOME, as in containers and services.
func TestServer_StartsForAnUnknownUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can start programs of another user")
	}
	const unknown = 424242
	folder, err := os.MkdirTemp("", "devserver-test-") // that of the test is for root alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	program := filepath.Join(folder, "devserver")
	copyFile(t, os.Args[0], program)
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--port", "0", "--headless")
	cmd.Env = []string{roleVariable + "=" + roleServer}
	cmd.Dir = folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unknown,
		Gid: unknown}}
	var errs lockedBuffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ready readyLine
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Errorf("it is not ready: %v: %.300s", err, errs.String())
	}
	if ready.PID != cmd.Process.Pid {
		t.Errorf("it is the process %d, started was %d", ready.PID, cmd.Process.Pid)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
