package compose

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// stack is a clean copy of the repository in which docker compose is called.
type stack struct {
	*engine
	dir string
	// settings are the lines of .env besides those of .env.example.
	settings map[string]string
}

// newStack copies the files of the repository, without settings, to an empty folder.
func newStack(t *testing.T, e *engine) *stack {
	t.Helper()
	s := &stack{engine: e, dir: t.TempDir(), settings: map[string]string{}}
	root := "../../.."
	list, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others",
		"--exclude-standard").Output()
	if err != nil {
		t.Fatal("git ls-files: ", err)
	}
	for name := range bytes.SplitSeq(bytes.Trim(list, "\x00"), []byte{0}) {
		copyFile(t, filepath.Join(root, string(name)), filepath.Join(s.dir, string(name)))
	}
	for _, name := range []string{"UI_PORT", "CODEC_PORT", "PROMETHEUS_PORT",
		"GATEWAY_PORT"} {
		s.settings[name] = freePort(t)
	}
	versions, err := os.ReadFile(filepath.Join(e.folder, "versions.env"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(versions)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		s.settings[name] = value
	}
	return s
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return // deleted and not committed yet
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(from)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, info.Mode().Perm())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// runningRuns returns how many runs with a prefix of their ids have not ended.
func (s *stack) runningRuns(t *testing.T, prefix string) int {
	t.Helper()
	n := 0
	for _, r := range s.runs(t) {
		if strings.HasPrefix(r, prefix) && strings.HasSuffix(r, " running") {
			n++
		}
	}
	return n
}

// write writes a file of the copy.
func (s *stack) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err == nil {
		err = os.Chmod(path, mode) // whatever the umask is
	}
	if err != nil {
		t.Fatal(err)
	}
}

// configure writes .env: a copy of .env.example, as the file itself says, followed by the stack's
// settings with those of changes.
func (s *stack) configure(t *testing.T, changes map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, ".env.example"))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{string(text)}
	for name, value := range s.settings {
		if _, changed := changes[name]; !changed {
			lines = append(lines, name+"="+value)
		}
	}
	for name, value := range changes {
		lines = append(lines, name+"="+value)
	}
	s.write(t, ".env", strings.Join(lines, "\n")+"\n", 0o600)
}

// try runs docker compose and returns its output, whatever its exit code is.
func (s *stack) try(t *testing.T, stdin io.Reader, args ...string) output {
	t.Helper()
	socket := s.socket
	if slices.Contains(args, "build") {
		socket = s.builds
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "DOCKER_HOST=unix://" + socket,
		"DOCKER_BUILDKIT=0", "COMPOSE_ANSI=never", "COMPOSE_PROGRESS=plain"}
	return command(t, s.dir, env, stdin, filepath.Join(s.folder, "docker-compose"), args...)
}

// compose runs docker compose, which has to succeed, and returns its standard output.
func (s *stack) compose(t *testing.T, args ...string) string {
	t.Helper()
	o := s.try(t, nil, args...)
	if o.code != 0 {
		t.Fatalf("docker compose %s: exit code %d\n%s%s\n%s", strings.Join(args, " "), o.code, o.stdout,
			o.stderr, s.try(t, nil, "logs", "--tail", "20").stdout)
	}
	return o.stdout
}

// starter runs a command of starter, which has to succeed, and returns its standard output.
func (s *stack) starter(t *testing.T, args ...string) string {
	t.Helper()
	return s.compose(t, append([]string{"run", "--rm", "starter"}, args...)...)
}

// start starts a plan of the copy under an id and does not wait for its end.
func (s *stack) start(t *testing.T, file, id string) {
	t.Helper()
	s.starter(t, "plan", file, "--id", id, "--detach")
}

// run is a run as starter list prints it.
type run struct {
	ID      string `json:"workflow_id"`
	Status  string `json:"status"`
	Outcome string `json:"outcome"`
}

// lines decodes JSON lines.
func lines[T any](t *testing.T, text string) []T {
	t.Helper()
	var list []T
	scanner := bufio.NewScanner(strings.NewReader(text))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var v T
		if err := json.Unmarshal(scanner.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", scanner.Text(), err)
		}
		list = append(list, v)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// runs returns "id status outcome" for all runs, in the order of their ids.
func (s *stack) runs(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, r := range lines[run](t, s.starter(t, "list", "--limit", "1000", "--output", "json")) {
		list = append(list, strings.TrimSpace(r.ID+" "+r.Status+" "+r.Outcome))
	}
	slices.Sort(list)
	return list
}

// records returns the records of a run's calls by the ids of the calls.
func (s *stack) records(t *testing.T, id string) map[string]api.Record {
	t.Helper()
	all := map[string]api.Record{}
	for _, r := range lines[api.Record](t, s.starter(t, "audit", id, "--output", "json")) {
		all[r.CallID] = r
	}
	return all
}

// containers returns the ids of a service's running containers.
func (s *stack) containers(t *testing.T, service string) []string {
	t.Helper()
	return strings.Fields(s.compose(t, "ps", "--quiet", service))
}
