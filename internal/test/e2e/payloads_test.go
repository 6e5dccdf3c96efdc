package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/payloads"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
)

// vault is a payload store with key files.
type vault struct {
	lab *lab
	// plain reads what the server has.
	plain client.Client
	dir   string
	keys  map[string]string
}

func newVault(l *lab) *vault {
	return &vault{lab: l, plain: l.Client, dir: l.t.TempDir(), keys: map[string]string{}}
}

// flooding returns a folder with the tools of these tests and one with results of any size.
func (v *vault) flooding() string {
	v.lab.t.Helper()
	dir := v.lab.t.TempDir()
	tools, err := os.ReadFile("testdata/tools/tools.yaml")
	if err != nil {
		v.lab.t.Fatal(err)
	}
	v.write(filepath.Join(dir, "tools.yaml"), string(tools))
	v.write(filepath.Join(dir, "flood.yaml"),
		"name: flood\nversion: 1.0.0\ndescription: Answers with many bytes.\nparameters: [{name: bytes, type: integer, required: true}]\n"+
			"entry: {type: function, handler: produce}\nexecution: {effect: read}\n")
	v.write(filepath.Join(dir, "wonder.yaml"),
		"name: wonder\nversion: 1.0.0\ndescription: Asks a person.\nparameters: [{name: what, type: string, required: true}]\nentry: {type: human}\n")
	return dir
}

// config returns the configuration of processes that write with the key active and read with those
// of others.
func (v *vault) config(active string, others ...string) payloads.Config {
	v.lab.t.Helper()
	text := "active: " + active + "\nkeys:\n"
	for _, id := range append(others, active) {
		if v.keys[id] == "" {
			v.keys[id] = filepath.Join(v.lab.t.TempDir(), id+".key")
			v.write(v.keys[id], payloads.NewKey())
		}
		text += "  " + id + ": file:" + v.keys[id] + "\n"
	}
	file := filepath.Join(v.lab.t.TempDir(), "keys.yaml")
	v.write(file, text)
	return payloads.Config{Store: "file://" + v.dir, Threshold: "4096", Keys: file}
}

func (v *vault) write(path, text string) {
	v.lab.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		v.lab.t.Fatal(err)
	}
}

// dial connects with a configuration.
func (v *vault) dial(c payloads.Config) client.Client {
	v.lab.t.Helper()
	storage, err := payloads.Open(c)
	o := client.Options{HostPort: v.lab.Address, Logger: testserver.Quiet}
	if err == nil {
		err = storage.Apply(&o)
	}
	if err != nil {
		v.lab.t.Fatal(err)
	}
	dialed, err := client.Dial(o)
	if err != nil {
		v.lab.t.Fatal(err)
	}
	v.lab.t.Cleanup(dialed.Close)
	return dialed
}

// starter runs a command against the server and returns its exit code and output.
func (v *vault) starter(c payloads.Config, args ...string) (code int, printed string) {
	v.lab.t.Helper()
	cmd := exec.CommandContext(v.lab.ctx, testserver.Bin(v.lab.t, "starter"),
		slices.Concat(args, []string{"--address", v.lab.Address}, c.Arguments())...)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(out)
	} else if err != nil {
		v.lab.t.Fatal(err)
	}
	return 0, string(out)
}

// raw returns the history of a run as the server has it.
func (v *vault) raw(id string) *historypb.History {
	v.lab.t.Helper()
	h := &historypb.History{}
	for events := v.plain.GetWorkflowHistory(v.lab.ctx, id, "", false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			v.lab.t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	return h
}

// expectSealed fails unless server and store contain no plain text, both keys were used and the
// store is not empty.
func (v *vault) expectSealed(id string, texts ...string) {
	t := v.lab.t
	t.Helper()
	h := v.raw(id)
	data, err := proto.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	stored := [][]byte{data}
	err = filepath.WalkDir(v.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		stored = append(stored, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if n := slices.IndexFunc(stored, func(data []byte) bool {
			return bytes.Contains(data,
				[]byte(text))
		}); n >= 0 {
			t.Errorf("%q can be read, in place %d of %d; the first is the history", text, n,
				len(stored))
		}
	}
	keys, references := map[string]int{}, 0
	err = proxy.VisitPayloads(v.lab.ctx, h, proxy.VisitPayloadsOptions{SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, list []*commonpb.Payload) ([]*commonpb.Payload,
			error) {
			for _, p := range list {
				keys[string(p.GetMetadata()["encryption-key-id"])]++
				references += len(p.GetExternalPayloads())
			}
			return list, nil
		}})
	if err != nil || keys["k1"] == 0 || keys["k2"] == 0 || references == 0 || len(stored) < 3 {
		t.Errorf("payloads by key: %v, %d references, %d blobs, %v", keys, references,
			len(stored)-1, err)
	}
}

// expectRead fails unless every command reads the run and the whole of the truncated result.
func (v *vault) expectRead(c payloads.Config, id, text string) {
	t := v.lab.t
	t.Helper()
	for _, args := range [][]string{{"audit", id, "--output", "json"}, {"show", id}, {"watch", id},
		{"list"}} {
		code, printed := v.starter(c, args...)
		if code != 0 || args[0] != "list" && !strings.Contains(printed, text) ||
			!strings.Contains(printed, id) && args[0] != "audit" {
			t.Errorf("%s ends with %d and says %.500s", args, code, printed)
		}
		if args[0] != "audit" {
			continue
		}
		reference := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(printed)
		if _, whole := v.starter(c, "payload", reference); strings.Count(whole,
			"x") != 5_000_000 {
			t.Errorf("the whole result %q has %d bytes and begins with %.100q; the records are %s",
				reference, len(whole), whole,
				regexp.MustCompile(`[0-9a-fx ]{100,}`).ReplaceAllString(printed, "…"))
		}
	}
}

// expectUnread fails unless the commands name the missing key.
func (v *vault) expectUnread(c payloads.Config, id string) {
	for _, command := range []string{"audit", "show", "watch"} {
		if code, printed := v.starter(c, command, id); code != 1 || !strings.Contains(printed,
			`with the key "k`) {
			v.lab.t.Errorf("%s ends with %d and says %.500s", command, code, printed)
		}
	}
}

// expectSome checks that commands about many runs show the readable runs and name the unreadable
// one with its key.
func (v *vault) expectSome(c payloads.Config, readable, unread, key string) {
	t := v.lab.t
	t.Helper()
	for _, args := range [][]string{{"records"}, {"report", "--output", "json"}} {
		code, printed := v.starter(c, args...)
		some := map[string]string{"records": readable, "report": `"all":2`}[args[0]]
		if code != 1 || !strings.Contains(printed, some) || !strings.Contains(printed, unread) ||
			!strings.Contains(printed, key) {
			t.Errorf("%s ends with %d and says %.700s", args, code, printed)
		}
	}
}

// expectControl checks what works without the keys: a run is paused, resumed and cancelled, because
// that reads none of its payloads. Commands that need more are refused before anything is sent,
// with the missing key: answers, and runs of which nothing could be read.
func (v *vault) expectControl(keyed payloads.Config) {
	t := v.lab.t
	t.Helper()
	if code, printed := v.starter(keyed, "call", "wonder", "what=why", "--id", "asked",
		"--detach"); code != 0 {
		t.Fatalf("it ends with %d and says %s", code, printed)
	}
	v.lab.await("for the question", func() bool {
		_, printed := v.starter(keyed, "approvals", "asked")
		return strings.Contains(printed, "what: why")
	})
	v.lab.await("for the worker to report that it holds the lane serial", func() bool {
		keeper, err := v.plain.DescribeWorkflowExecution(v.lab.ctx,
			api.LaneWorkflowID(api.DefaultTaskQueue, api.LaneSerial), "")
		return err == nil && slices.ContainsFunc(keeper.GetPendingActivities(),
			func(hosting *workflowpb.PendingActivityInfo) bool {
				details := hosting.GetHeartbeatDetails().GetPayloads()
				return hosting.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED &&
					hosting.GetLastHeartbeatTime().AsTime().After(
						hosting.GetLastStartedTime().AsTime()) &&
					// Not that of the earlier worker, which was killed.
					len(details) > 0 && string(details[0].GetMetadata()["encryption-key-id"]) == "k2"
			})
	})
	for _, step := range []struct {
		code int
		want string
		args []string
	}{
		{2, `nothing was started.*with the key "k[12]" and no keys`, []string{"call", "wonder",
			"what=why"}},
		{0, "run asked is paused by ada: lunch", []string{"pause", "asked", "--by", "ada",
			"--reason", "lunch"}},
		{0, "the run is already paused", []string{"pause", "asked"}},
		{0, "run asked is resumed", []string{"resume", "asked"}},
		{0, "run asked is not paused", []string{"resume", "asked"}},
		{1, `with the key "k2" and no keys`, []string{"answer", "asked", "--text", "because"}},
		{1, `cannot be read.*with the key "k2" and no keys`, []string{"doctor"}},
		{0, "run asked is cancelled", []string{"cancel", "asked"}},
	} {
		code, printed := v.starter(payloads.Config{}, step.args...)
		if code != step.code || !regexp.MustCompile(step.want).MatchString(printed) {
			t.Errorf("%s ends with %d, want %d, and says %.700s", step.args, code, step.code, printed)
		}
	}
}

// refusals returns the log lines of workers about workflow tasks that they could not read.
func (v *vault) refusals(id string) (list []string) {
	for _, e := range v.raw(id).GetEvents() {
		if a := e.GetWorkflowTaskFailedEventAttributes(); a != nil {
			list = append(list, a.GetFailure().GetMessage())
		}
	}
	return list
}

// Payloads are compressed, encrypted and stored outside of history. A run with a result of 5 MB
// survives kill -9 of its worker and a change of the key. Neither the server's history nor the
// store contains plain text, while every command reads the whole result. A worker without a key
// damages no run: it returns the task, names the missing key, and the run continues on another
// worker. The commands name it too, commands about many runs show the other runs, and whatever
// needs no payload works.
func TestPayloads_AreEncryptedAndStored(t *testing.T) {
	l := newLab(t)
	v := newVault(l)
	foreign := v.dial(v.config("k9"))
	before, after := v.config("k1"), v.config("k2", "k1", "k9")
	const planted = "PLANTED"
	large := planted
	for i := range 3000 {
		large += fmt.Sprintf(" %x", i*i*7919)
	}
	arguments, err := json.Marshal(textArgs{Text: large})
	if err != nil {
		t.Fatal(err)
	}
	stranger := agent(answer("done"))
	stranger.Tools = []string{"append"}
	tools := v.flooding()
	first := l.workerIn(nil, append(before.Arguments(), "--tools", tools)...)
	_, err = foreign.ExecuteWorkflow(l.ctx, client.StartWorkflowOptions{ID: "stranger",
		TaskQueue: api.DefaultTaskQueue, WorkflowTaskTimeout: time.Second},
		api.AgentWorkflow, api.RunInput{Agent: stranger, Prompt: planted})
	if err != nil {
		t.Fatal(err)
	}
	l.await("for the task to be given back", func() bool { return len(v.refusals("stranger")) > 0 })
	if printed := v.refusals("stranger")[0]; !strings.Contains(printed,
		`the key "k9", which is not in`) {
		t.Errorf("the worker logs %s", printed)
	}
	l.await("for show to explain why the run is blocked", func() bool {
		_, printed := v.starter(v.config("k9"), "show", "stranger")
		return strings.Contains(printed, "the run is blocked") && strings.Contains(printed,
			`the key "k9", which is not in`)
	})
	l.Client = v.dial(v.config("k1", "k2", "k9"))
	long := call("append", string(arguments))
	long.ID = "c1"
	a := agent(step(long), step(call("flood", `{"bytes":5000000}`),
		call("append", `{"wrong":"PLANTED"}`), call("broken", `{}`)),
		step(call("hold_read", `{}`)), answer("${c1.text}"))
	a.Tools = []string{"append", "flood", "broken", "hold_read"}
	run := l.runAgent("sealed", a)
	l.awaitEntries(2)
	first.Kill()
	l.workerIn(nil, append(after.Arguments(), "--tools", tools)...)
	l.openGate()
	if r := l.result(run); !strings.HasPrefix(r.Answer, planted) {
		t.Errorf("the answer is %.100q", r.Answer)
	}
	v.expectSealed(run.GetID(), planted, "it is broken", "xxxxxxxx")
	v.expectRead(after, run.GetID(), planted)
	v.expectUnread(v.config("k3"), run.GetID())
	if r := l.result(l.Client.GetWorkflow(l.ctx, "stranger", "")); r.Answer != "done" {
		t.Errorf("the stranger ends with %+v", r)
	}
	v.expectControl(after)
	v.expectSome(v.config("k1", "k2"), run.GetID(), "stranger", "k9")
}
