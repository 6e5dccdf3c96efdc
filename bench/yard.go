package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/worker/host"
)

// serveWorker is the argument that makes this program a worker with the bench's tools. Flags of a
// worker follow it. serveStateful adds the stateful tools, which take one more poll for each lane.
const (
	serveWorker   = "serve-worker"
	serveStateful = serveWorker + "-stateful"
)

// serveCalls is the main function of such a worker. For each line of input it collects garbage and
// prints a footprint.
func serveCalls() int {
	config := host.Config{Functions: functions()}
	if os.Args[1] == serveStateful {
		config.Stateful, config.Instances = stateful(), idleInstances
	}
	os.Args = slices.Delete(os.Args, 1, 2)
	corpusOnce() // exclude what a worker reads before its first call
	go reportFootprints(os.Stdin)
	return host.Main(config)
}

// collections is how often garbage is collected before a measurement. Each collection halves stacks
// that are mostly unused, as in a process that runs for a while.
const collections = 5

// reportFootprints collects garbage and prints a footprint for each line of input.
func reportFootprints(input io.Reader) {
	for in := bufio.NewScanner(input); in.Scan(); {
		for range collections {
			debug.FreeOSMemory()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		_ = json.NewEncoder(os.Stdout).Encode(footprint{Live: m.HeapAlloc + m.StackInuse,
			Goroutines: runtime.NumGoroutine()})
	}
}

// yard is a task queue with lanes that have rules. Separate processes serve it, so that their
// holders do not affect other figures.
type yard struct {
	client  client.Client
	address string
	reader  *lanestate.Reader
	rules   *lanes.Set
	// dir has lanes.yaml and the folder of tools.
	dir     string
	workers []*process
	// fail ends the figure's context.
	fail context.CancelCauseFunc
}

const yardQueue = "yard"

// newYard creates a yard with the lanes of lanes.yaml and the tool payload on each named lane. The
// returned context ends when a worker exits unexpectedly.
func newYard(ctx context.Context, l *lab, rules string, names ...string) (context.Context, *yard,
	error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, nil, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	y := &yard{fail: fail, client: l.client, address: l.address, dir: dir,
		reader: lanestate.NewReader(l.client, client.DefaultNamespace, yardQueue)}
	err = errors.Join(y.configure(rules), os.Mkdir(filepath.Join(dir, "tools"), 0o700))
	for _, name := range names {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "tools", name+".yaml"),
			fmt.Appendf(nil, laneSpec, name), 0o600))
	}
	if err != nil {
		y.close()
	}
	return ctx, y, err
}

// laneSpec is payload on a lane.
const laneSpec = `
name: payload_%[1]s
version: 1.0.0
description: Answers with a text of that many bytes.
parameters:
  - {name: size, type: integer, required: true}
  - {name: key, type: string}
output: {type: string}
entry: {type: function, handler: payload}
execution: {effect: read, access: shared, lane: %[1]s}
`

// configure writes lanes.yaml.
func (y *yard) configure(rules string) (err error) {
	if y.rules, err = lanes.Decode("lanes.yaml", []byte(rules)); err != nil {
		return err
	}
	path := filepath.Join(y.dir, "lanes.yaml")
	return errors.Join(os.WriteFile(path+".new", []byte(rules), 0o600), os.Rename(path+".new",
		path))
}

func (y *yard) close() {
	y.fail(nil)
	for _, w := range y.workers {
		w.end(syscall.SIGTERM)
	}
	_ = os.RemoveAll(y.dir)
}

// process is a program that the bench has started.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Writer
	stdout *json.Decoder
	// told is set before the process is stopped; ended is closed when it has exited.
	told  atomic.Bool
	ended chan struct{}
}

// launch starts a program and decodes the line of JSON by which it says that it is ready.
func launch(ready any, program string, arguments ...string) (*process, error) {
	cmd := exec.Command(program, arguments...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w; make build makes the programs", err)
	}
	p := &process{cmd: cmd, stdin: stdin, stdout: json.NewDecoder(stdout),
		ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_, _ = cmd.Process.Wait() // cmd.Wait would close the pipes
	}()
	if err := p.stdout.Decode(ready); err != nil {
		return nil, fmt.Errorf("%s did not become ready: %w", program, err)
	}
	return p, nil
}

// start starts a worker of the named lanes and returns when it serves them.
func (y *yard) start(names ...string) (*process, error) { return y.startAs(serveWorker, names) }

// startAs is start with the argument serveWorker or serveStateful, and with more flags.
func (y *yard) startAs(argument string, names []string, more ...string) (*process, error) {
	return y.launch("the worker of "+strings.Join(names, ", "), append([]string{argument,
		"--address", y.address,
		"--task-queue", yardQueue, "--lanes", strings.Join(names, ","),
		"--lanes-file", filepath.Join(y.dir, "lanes.yaml"), "--tools", filepath.Join(y.dir,
			"tools"), "--log-level", "warn",
		"--stop-timeout", "1s", "--parent-pid", fmt.Sprint(os.Getpid())}, more...)...)
}

// launch starts this program with other arguments.
func (y *yard) launch(name string, arguments ...string) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := launch(new(host.Info), program, arguments...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	y.workers = append(y.workers, p)
	go func() {
		if <-p.ended; !p.told.Load() {
			y.fail(fmt.Errorf("%s ended", name))
		}
	}()
	return p, nil
}

// end ends the process by a signal.
func (p *process) end(signal os.Signal) {
	p.told.Store(true)
	_ = p.cmd.Process.Signal(signal) // it may have ended
	<-p.ended
}

// footprint is the memory of a worker process.
type footprint struct {
	// Live is the size of heap and stacks after a collection, Resident the resident set, both in
	// bytes.
	Live       uint64 `json:"live"`
	Resident   uint64 `json:"-"`
	Goroutines int    `json:"goroutines"`
}

func (f footprint) String() string {
	return fmt.Sprintf("%.1f MB resident, %.1f MB live, %d goroutines", float64(f.Resident)/1e6,
		float64(f.Live)/1e6, f.Goroutines)
}

// footprint collects the garbage of the process and returns its memory.
func (p *process) footprint() (footprint, error) {
	var f footprint
	if _, err := io.WriteString(p.stdin, "\n"); err != nil {
		return f, err
	}
	if err := p.stdout.Decode(&f); err != nil {
		return f, err
	}
	var err error
	f.Resident, err = p.memory("VmRSS")
	return f, err
}

// memory returns a value of the process's memory in bytes, by its name in /proc.
func (p *process) memory(name string) (bytes uint64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("the memory of a process can be read on Linux only: %w", err)
	}
	_, rest, _ := strings.Cut(string(status), "\n"+name+":")
	if _, err := fmt.Sscanf(rest, "%d kB", &bytes); err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	return bytes << 10, nil
}

// await polls the state of the lanes until well returns true.
func (y *yard) await(ctx context.Context, what string, well func([]lanestate.State) bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var states []lanestate.State
	for {
		read, err := y.reader.Read(ctx, y.rules.All()...)
		if err == nil {
			if states = read; well(states) {
				return nil
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; the lanes are %+v", what,
				errors.Join(err, context.Cause(ctx)), states)
		}
	}
}

// awaitServed waits until all slots of lanes with a limit are held.
func (y *yard) awaitServed(ctx context.Context) error {
	return y.await(ctx, "holders of all slots", func(states []lanestate.State) bool {
		return !slices.ContainsFunc(states, func(s lanestate.State) bool {
			return s.Lane.HasLimit() && s.Lane.Name != api.LaneSerial &&
				(!s.Served || s.ServedGroups() < s.Lane.Holders)
		})
	})
}
