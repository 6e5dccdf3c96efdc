package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresWithin bounds the start of PostgreSQL.
const postgresWithin = 30 * time.Second

// Postgres is a running PostgreSQL server with an empty database.
type Postgres struct {
	t   testing.TB
	dir string
	cmd *exec.Cmd
	// owner is who the server runs as; nil for the user of the test.
	owner *syscall.Credential
	// DSN is its connection string.
	DSN string
}

// NewPostgres starts PostgreSQL in a temporary folder, on a socket there. It skips the test if
// PostgreSQL is not installed. The server is stopped at the end of the test.
func NewPostgres(t testing.TB) *Postgres {
	t.Helper()
	initdb, err := postgresProgram("initdb")
	if err != nil {
		t.Skip("PostgreSQL is not installed: install Debian's package postgresql")
	}
	dir, err := os.MkdirTemp("", "pg") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &Postgres{t: t, dir: dir,
		DSN: fmt.Sprintf("host=%s user=switchyard dbname=postgres", dir)}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		p.owner = nobody(t)
		if err := os.Chown(dir, int(p.owner.Uid), int(p.owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := p.command(initdb, "--pgdata", p.data(), "--username", "switchyard", "--auth",
		"trust", "--encoding", "UTF8", "--locale", "C", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	p.start()
	t.Cleanup(p.Kill)
	return p
}

// postgresProgram returns the path of a program of PostgreSQL, which Debian does not put on the
// path.
func postgresProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, err := filepath.Glob(filepath.Join("/usr/lib/postgresql/*/bin", name))
	if err != nil || len(found) == 0 {
		return "", errors.Join(err, exec.ErrNotFound)
	}
	return found[len(found)-1], nil
}

// nobody returns a user without rights.
func nobody(t testing.TB) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Skipf("PostgreSQL refuses to run as root, and there is no other user: %v", err)
	}
	uid, errUser := strconv.ParseUint(u.Uid, 10, 32)
	gid, errGroup := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(errUser, errGroup); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner}
	return cmd
}

// start starts the server, and again while the processes of a killed one end.
func (p *Postgres) start() {
	p.t.Helper()
	program, err := postgresProgram("postgres")
	if err != nil {
		p.t.Fatal(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var ended chan struct{}
	for began := time.Now(); time.Since(began) < postgresWithin; <-tick.C {
		if ended == nil {
			p.cmd = p.command(program, "-D", p.data(), "-k", p.dir, "-c", "listen_addresses=")
			if err := p.cmd.Start(); err != nil {
				p.t.Fatal(err)
			}
			ended = make(chan struct{})
			go func(cmd *exec.Cmd, ended chan<- struct{}) {
				defer close(ended)
				_ = cmd.Wait() // it is started again, whatever ended it
			}(p.cmd, ended)
		}
		select {
		case <-ended:
			ended = nil
			continue
		default:
		}
		if p.answers() {
			return
		}
	}
	p.t.Fatalf("PostgreSQL did not start within %v", postgresWithin)
}

// answers reports whether the server accepts connections.
func (p *Postgres) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.DSN)
	return err == nil && conn.Close(ctx) == nil
}

// Kill kills the server without notice.
func (p *Postgres) Kill() { _ = p.cmd.Process.Signal(syscall.SIGKILL) }

// Restart kills the server and starts it again.
func (p *Postgres) Restart() {
	p.t.Helper()
	p.Kill()
	p.start()
}
