package compose

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// killWorker kills the process of a worker while it executes calls of both effects.
func (d *deployment) killWorker(t *testing.T) string {
	var steps []step
	for i := range 6 {
		steps = append(steps, step{id: fmt.Sprintf("once%d", i), tool: "charge", seconds: 20},
			step{id: fmt.Sprintf("read%d", i), tool: "look", seconds: 20})
	}
	d.writePlan(t, "kill", steps)
	d.start(t, "plans/kill.yaml", "kill")
	var before map[string][]string
	await(t, "all calls run", patience, func() bool {
		before = d.entries(t)
		maps.DeleteFunc(before, func(n string, _ []string) bool { return !strings.HasPrefix(n, "kill/") })
		return len(before) == len(steps)
	})
	// A container's host name is the beginning of its id.
	victim := before["kill/once0"][0]
	d.kill(t, victim)
	await(t, "the run has ended", patience, func() bool {
		return slices.Contains(d.runs(t), "kill failed failed")
	})
	records, after := d.records(t, "kill"), d.entries(t)
	unknown, repeated := 0, 0
	for _, c := range steps {
		n, r := "kill/"+c.id, records[c.id]
		want, executions := api.CallCompleted, 1
		var failure api.ErrorType
		if lost := before[n][0] == victim; lost && c.tool == "charge" {
			want, failure = api.CallFailed, api.ErrOutcomeUnknown
			unknown++
		} else if lost {
			executions = 2
			repeated++
		}
		var got api.ErrorType
		if r.Error != nil {
			got = r.Error.Type
		}
		if r.Status != want || got != failure || len(after[n]) != executions {
			t.Errorf("call %s on %s is %s %s and was executed %d times, want %s %s and %d", c.id,
				before[n][0], r.Status, got, len(after[n]), want, failure, executions)
		}
	}
	return fmt.Sprintf("%s: %d once calls unknown and not repeated, %d reads repeated elsewhere", victim,
		unknown, repeated)
}

// kill sends SIGKILL to the first process of a container from outside, and waits until Compose's
// restart policy has started another one.
func (d *deployment) kill(t *testing.T, container string) {
	t.Helper()
	pid := func() int {
		n, err := strconv.Atoi(d.podman(t, "inspect", "--format", "{{.State.Pid}}", container))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	killed := pid()
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the killed worker is started again", patience, func() bool {
		now := pid()
		return now != 0 && now != killed
	})
}

// restart restarts the database and the server while plans run.
func (d *deployment) restart(t *testing.T) string {
	const plans, length = 5, 20
	ids := d.startChains(t, "load", plans, length, 2)
	var took []string
	for _, service := range []string{"postgres", "temporal"} {
		begin := time.Now()
		d.compose(t, "restart", service)
		d.compose(t, "up", "--detach", "--wait", "--no-recreate", "--scale", "worker=3")
		took = append(took, fmt.Sprintf("%s %.1f s", service, time.Since(begin).Seconds()))
	}
	inFlight := d.runningRuns(t, "load")
	d.checkChains(t, d.ledger, ids, length)
	if inFlight == 0 {
		t.Error("no run was in flight when the server was back")
	}
	return fmt.Sprintf("%s; %d runs over it, %d charges, each once", strings.Join(took, ", "), inFlight,
		plans*length)
}

// libraryOverride makes the worker that of an application, as docs/deploying.md describes.
const libraryOverride = `services:
  worker:
    build:
      args: {WORKER: ./examples/librarian}
    environment:
      LIBRARY: /library
    working_dir: /library
    volumes:
      - ./ledger:/ledger
      - ./docs:/library/docs:ro
      - ./README.md:/library/README.md:ro
`

// upgrade replaces the workers by those of an application, in another version, while plans run.
func (d *deployment) upgrade(t *testing.T) string {
	const plans, length = 3, 20
	d.write(t, "docker-compose.override.yml", libraryOverride, 0o644)
	d.settings["SWITCHYARD_VERSION"] = "2"
	d.configure(t, nil)
	d.compose(t, "build")
	ids := d.startChains(t, "upgrade", plans, length, 2)
	before := d.stack.containers(t, "worker")
	d.replaceWorkers(t, 3)
	inFlight := d.runningRuns(t, "upgrade")
	after := d.stack.containers(t, "worker")
	for _, c := range after {
		version := d.podman(t, "inspect", "--format",
			`{{index .Config.Labels "org.opencontainers.image.version"}}`, c)
		if version != "2" || slices.Contains(before, c) {
			t.Errorf("the worker %s has version %q, want a new one with 2", c, version)
		}
	}
	d.checkChains(t, d.ledger, ids, length)
	if inFlight == 0 {
		t.Error("no run was in flight when the new workers had started")
	}
	return fmt.Sprintf("%d workers replaced, %d runs over it, %d charges, each once", len(after), inFlight,
		plans*length)
}

// librarian runs the example's agent on the workers of upgrade.
func (d *deployment) librarian(t *testing.T) string {
	for _, tool := range []string{"list_documents", "search_documents", "read_document", "count_words",
		"take_note"} {
		copyFile(t, d.dir+"/examples/librarian/tools/"+tool+".yaml", d.dir+"/tools/"+tool+".yaml")
	}
	await(t, "all workers serve the librarian's tools", patience, func() bool {
		return d.try(t, nil, "run", "--rm", "starter", "call", "count_words",
			"path=docs/dev/architecture.md").code == 0
	})
	o := d.try(t, nil, "run", "--rm", "starter", "run", "examples/librarian/agent.yaml",
		"Which document tells how to change a workflow?", "--id", "librarian")
	if o.code != 0 || !strings.Contains(o.stdout, "docs/dev/changing-workflows.md) tells how to change") {
		t.Fatalf("the librarian ends with %d and says %q\n%s", o.code, o.stdout, o.stderr)
	}
	return "answered, on workers of docker build --build-arg WORKER=./examples/librarian"
}
