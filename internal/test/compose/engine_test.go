package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// folderVariable names the environment variable with the folder that install has filled; make
// test/compose sets it.
const folderVariable = "SWITCHYARD_COMPOSE"

const (
	// commandTime bounds one command; the longest builds images.
	commandTime = 15 * time.Minute
	// healthInterval is the time between health checks. It is that of docker-compose.yml's fastest.
	healthInterval = 2 * time.Second
	// healthTime bounds one health check.
	healthTime = 10 * time.Second
)

// engine is podman with the storage and images of install. It serves Docker's API on two sockets:
// containers of builds have the caches of the machine's Go, others have not.
type engine struct {
	folder         string
	socket, builds string
}

// newEngine starts the engine, without containers, volumes and networks. At the end of the test it
// has none either.
func newEngine(t *testing.T) *engine {
	t.Helper()
	folder := os.Getenv(folderVariable)
	if folder == "" {
		t.Skipf("%s is not set: this test runs containers; make test/compose does", folderVariable)
	}
	sockets := t.TempDir()
	e := &engine{folder: folder, socket: filepath.Join(sockets, "run"),
		builds: filepath.Join(sockets, "build")}
	e.clear(t)
	t.Cleanup(func() {
		e.clear(t)
		if left := e.left(t); left != "" {
			t.Errorf("the engine still has %s", left)
		}
	})
	e.serve(t, e.socket, "containers.conf")
	e.serve(t, e.builds, "build.conf")
	ctx, cancel := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { e.checkHealth(ctx) })
	t.Cleanup(func() {
		cancel()
		watch.Wait()
	})
	return e
}

// output is what a command wrote, and how it ended.
type output struct {
	stdout, stderr string
	code           int
}

// command runs a program and returns its output; a program that cannot be run fails the test.
func command(t *testing.T, dir string, env []string, stdin io.Reader, name string,
	args ...string) output {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, env, stdin, &stdout, &stderr
	// A grandchild may keep the pipes open.
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("%s %q: %v\n%s", filepath.Base(name), args, err, stderr.String())
	}
	return output{stdout: stdout.String(), stderr: stderr.String(),
		code: cmd.ProcessState.ExitCode()}
}

// podman runs podman and returns its standard output.
func (e *engine) podman(t *testing.T, args ...string) string {
	t.Helper()
	o := command(t, e.folder, os.Environ(), nil, filepath.Join(e.folder, "podman"), args...)
	if o.code != 0 {
		t.Fatalf("podman %q: exit code %d\n%s", args, o.code, o.stderr)
	}
	return strings.TrimSpace(o.stdout)
}

// clear removes all containers, volumes and networks, and the images that the test built.
func (e *engine) clear(t *testing.T) {
	t.Helper()
	e.podman(t, "rm", "--all", "--force", "--volumes", "--time", "0")
	// Those of an aborted build.
	if ids := strings.Fields(e.podman(t, "ps", "--all", "--external", "--quiet")); len(ids) > 0 {
		e.podman(t, append([]string{"rm", "--force"}, ids...)...)
	}
	e.podman(t, "volume", "prune", "--force")
	e.podman(t, "network", "prune", "--force")
	for _, image := range strings.Fields(e.podman(t, "images", "--format",
		"{{.Repository}}:{{.Tag}}", "--filter", "label=org.opencontainers.image.licenses")) {
		e.podman(t, "rmi", "--force", "--ignore", image)
	}
	e.podman(t, "image", "prune", "--force")
}

// left describes what the engine has besides images, empty if there is nothing.
func (e *engine) left(t *testing.T) string {
	t.Helper()
	var list []string
	for _, kind := range []struct {
		name string
		args []string
	}{
		{"containers", []string{"ps", "--all", "--quiet"}},
		{"volumes", []string{"volume", "ls", "--quiet"}},
		{"networks", []string{"network", "ls", "--quiet", "--filter", "label=com.docker.compose.project"}},
	} {
		if names := strings.Fields(e.podman(t, kind.args...)); len(names) > 0 {
			list = append(list, fmt.Sprintf("the %s %s", kind.name, strings.Join(names, ", ")))
		}
	}
	return strings.Join(list, " and ")
}

// serve starts a server of Docker's API with a configuration of the engine's folder.
func (e *engine) serve(t *testing.T, socket, configuration string) {
	t.Helper()
	log, err := os.Create(socket + ".log")
	if err != nil {
		t.Fatal(err)
	}
	// It ends by itself ten minutes after a test that was killed.
	cmd := exec.Command(filepath.Join(e.folder, "podman"), "system", "service", "--time", "600",
		"unix://"+socket)
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+filepath.Join(e.folder, configuration),
		"DISABLE_HC_SYSTEMD=true")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		_ = log.Close()
	})
	await(t, "the engine serves "+socket, time.Minute, func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// checkHealth runs the health checks of running containers until ctx is done. The timers of systemd
// do so on machines that have it.
func (e *engine) checkHealth(ctx context.Context) {
	client := &http.Client{Timeout: healthTime, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
		},
	}}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(healthInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		var containers []struct{ ID string }
		if err := ask(ctx, client, "containers/json", &containers); err != nil {
			continue // the engine is busy or ends
		}
		var checks sync.WaitGroup
		for _, c := range containers {
			checks.Go(func() {
				// Containers without a health check answer with an error.
				_ = ask(ctx, client, "containers/"+c.ID+"/healthcheck", nil)
			})
		}
		checks.Wait()
	}
}

// ask sends a GET request to podman's own API and decodes the response into v.
func ask(ctx context.Context, client *http.Client, path string, v any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://podman/v4.0.0/libpod/"+path, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if v == nil {
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
	return json.NewDecoder(response.Body).Decode(v)
}

// await waits until a condition is true, and fails the test after a time.
func await(t *testing.T, what string, within time.Duration, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Second / 4)
	defer tick.Stop()
	deadline := time.After(within)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %s in vain until %s", within, what)
		}
	}
}
