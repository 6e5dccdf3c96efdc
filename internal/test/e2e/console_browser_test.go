package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// consoleTools is the folder with the tools of the tests in a browser.
const consoleTools = "testdata/console"

// browsedWithin bounds a test in a browser. It only ends tests that hang.
const browsedWithin = 16 * time.Minute

// chromium returns the path of Chromium: SWITCHYARD_CHROMIUM, or one on the PATH. Without one, the
// test is skipped; a named one must exist, so that a build cannot skip the tests.
func chromium(t *testing.T) string {
	t.Helper()
	if os.Getenv("SWITCHYARD_E2E") == "" {
		t.Skip("SWITCHYARD_E2E is not set: this test runs a browser; make test/console does")
	}
	name := os.Getenv("SWITCHYARD_CHROMIUM")
	for _, name := range []string{name, "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
		if name != "" && name == os.Getenv("SWITCHYARD_CHROMIUM") {
			t.Fatalf("SWITCHYARD_CHROMIUM: there is no %s", name)
		}
	}
	t.Skip("no Chromium: install one, or name it in SWITCHYARD_CHROMIUM")
	return ""
}

// browserLab is a lab with a browser. Chromium, and the packages that control it, have to be there.
type browserLab struct {
	*gatewayLab
	chromium, node, packages string
	// data is what the scenario says with a step.
	data json.RawMessage
}

func newBrowserLab(t *testing.T, serverFlags ...string) *browserLab {
	t.Helper()
	b := &browserLab{chromium: chromium(t), node: testserver.NPM(t, "node"),
		packages: testserver.NPM(t, "../node_modules")}
	b.gatewayLab = prepareGatewayLab(t, `  roles:
    viewer: ["key:ada"]
    operator: ["key:grace"]
    approver: ["key:grace", "key:ben", "key:olga"]
limits: {requests_per_second: 500}
`, serverFlags...)
	b.within(browsedWithin)
	return b
}

// within sets the time after which everything ends.
func (b *browserLab) within(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	b.t.Cleanup(cancel)
	b.ctx = ctx
}

// console starts a gateway with a console at an address.
func (b *browserLab) console(address string, flags ...string) (*replica, string) {
	b.t.Helper()
	r := b.replica(append([]string{"--tools", consoleTools, "--console", "--direct", "100ms",
		"--wait", "100ms", "--listen", address}, flags...)...)
	return r, strings.TrimSuffix(r.Endpoint, "/mcp") + "/console/"
}

// browserSteps are what a scenario can ask for, by name.
type browserSteps map[string]func() any

// browse plays a scenario of internal/webui/console.mjs, and what it asks for.
func (b *browserLab) browse(scenario string, settings map[string]any, steps browserSteps) {
	b.t.Helper()
	settings["scenario"], settings["chromium"], settings["short"] = scenario, b.chromium,
		testing.Short()
	settings["keys"] = b.secrets
	if *updatePictures {
		folder, err := filepath.Abs("../../../docs/pictures")
		b.must(err)
		settings["pictures"] = folder
	}
	cmd := exec.CommandContext(b.ctx, b.node, "../../webui/console.mjs")
	cmd.Env = append(os.Environ(), "NODE_PATH="+b.packages)
	var faults bytes.Buffer
	cmd.Stderr = &faults
	in, err := cmd.StdinPipe()
	b.must(err)
	out, err := cmd.StdoutPipe()
	b.must(err)
	b.must(cmd.Start())
	say := json.NewEncoder(in)
	b.must(say.Encode(settings))
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var asked struct {
			Step string
			Data json.RawMessage
		}
		b.must(json.Unmarshal(lines.Bytes(), &asked))
		do := steps[asked.Step]
		if do == nil {
			b.t.Fatalf("the scenario asks for %q", asked.Step)
		}
		b.data = asked.Data
		b.must(say.Encode(do()))
	}
	if err := cmd.Wait(); err != nil {
		b.t.Errorf("%v\n%s", err, &faults)
	}
}

// record returns the record of a call of the run by one of its arguments, when it has ended.
func (b *browserLab) record(run, argument string) (found api.Record) {
	b.t.Helper()
	client := switchyard.NewClient(b.Client, switchyard.Options{})
	b.await("for the record of "+run, func() bool {
		for r, err := range client.Open(run).Records(b.ctx) {
			b.must(err)
			if strings.Contains(string(r.Arguments), argument) {
				found = r
				return true
			}
		}
		return false
	})
	return found
}

// waiting returns the run of the call that waits for approval with a text.
func (b *browserLab) waiting(text string) (run string) {
	b.t.Helper()
	client := switchyard.NewClient(b.Client, switchyard.Options{})
	b.await("for a call with "+text, func() bool {
		open, err := client.Approvals(b.ctx)
		b.must(err)
		for _, a := range open {
			if strings.Contains(a.Text, text) {
				run = a.WorkflowID
			}
		}
		return run != ""
	})
	return run
}

// Every page is in order in a browser: light and dark, on phones and desks, with hostile texts of
// tools. The agent of one principal asks; its caller may not decide, and another person approves
// with an edit on a phone. The record tells it. Others see decisions at once, and are told what
// happened if they come late.
func TestConsole_PeopleDecideInABrowser(t *testing.T) {
	b := newBrowserLab(t)
	b.workerIn(nil, "--tools", consoleTools)
	gateway, console := b.console("127.0.0.1:0", "--ui-address", "http://127.0.0.1:8233")
	settings := map[string]any{"console": console}
	c, agent := b.dial(), ""
	var asked *switchyard.Run
	b.browse("people", settings, browserSteps{
		"ask": func() any {
			ended := b.calling(c, "ended", "evil", nil)
			_, err := ended.Result(b.ctx)
			b.must(err)
			for _, amount := range []int{101, 102, 103} {
				asked = b.calling(c, "refund-"+string(rune('a'+amount-101)), "refund", map[string]any{
					"to": "eve", "amount": amount, "pin": "planted-0815",
					"note": "</pre><script>window.owned=1</script>\u202e"})
			}
			b.calling(c, "offer", "send_offer", map[string]any{"message": map[string]any{
				"to": []string{"dora@customer.example", "eve@evil.example"}, "subject": "Offer",
				"by": []string{"mail"}},
				"password": "planted-0815"})
			b.calling(c, "asks", "ask_person", arguments("topic", "<b>lunch</b>"))
			olga := b.older(gateway.Endpoint, b.apiKey("olga"), "demo")
			must(t)(olga.call(b.ctx, "buyer", arguments("task", "<img src=x>"), nil))
			agent = b.waiting("120")
			call := ""
			for r, err := range ended.Records(b.ctx) {
				b.must(err)
				call = r.CallID
			}
			return map[string]string{"ended": "ended", "endedCall": call, "agent": agent}
		},
		"cancel": func() any {
			b.must(asked.Cancel(b.ctx, "ada", "not needed"))
			return nil
		},
		"record": func() any {
			r := b.record(agent, `"amount":80`)
			if d := r.Approval; r.Status != api.CallCompleted || d == nil || d.By != "key:grace" ||
				d.Auth != api.AuthKey || !strings.Contains(string(d.Edited), `"amount":80`) ||
				!strings.Contains(string(d.Original), `"amount":120`) ||
				strings.Contains(string(d.Edited), "planted-") {
				t.Errorf("the record of the edited call: %s %+v", r.Status, d)
			}
			if d := b.record("refund-b", `"amount":102`).Approval; d == nil || d.By != "key:ben" ||
				d.Decision != api.DecisionDeny {
				t.Errorf("the record of the denied call has %+v", d)
			}
			const offer = `"message":{"by":["mail","letter"],"subject":"Our offer",` +
				`"to":["dora@customer.example"]},"password":"***"}`
			if d := b.record("offer", "Our offer").Approval; d == nil ||
				string(d.Edited) != `{"after":null,`+offer {
				t.Errorf("the record of the offer has %+v, want %s", d, offer)
			}
			b.record(agent, `"amount":7`) // the call beyond the limit, or its refusal
			return nil
		},
	})
}

// A link of a notice leads to a page that asks once more, and decides once. The record says by
// which link.
func TestConsole_LinksDecideInABrowser(t *testing.T) {
	inFull(t)
	b := newBrowserLab(t)
	notices := make(chan api.Notice, 20)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n api.Notice
		if json.NewDecoder(r.Body).Decode(&n) == nil && n.Event == api.NoticeWaiting {
			notices <- n
		}
	}))
	t.Cleanup(hook.Close)
	key := filepath.Join(t.TempDir(), "link-key")
	b.writeFile(key, "a key of these tests\n")
	_, console := b.console("127.0.0.1:0", "--approval-link-key", "file:"+key)
	b.workerIn(nil, "--tools", consoleTools, "--approval-webhook", hook.URL,
		"--approval-webhook-secret", "file:"+key, "--approval-link-key", "file:"+key,
		"--console-url", strings.TrimSuffix(console, "/console/"), "--approval-link-to", "#ops")
	settings := map[string]any{"console": console}
	b.browse("links", settings, browserSteps{
		"notice": func() any {
			b.calling(b.dial(), "linked", "refund", map[string]any{"to": "ada", "amount": 55,
				"pin": "planted-0815", "note": "<script>window.owned=1</script>"})
			return (<-notices).Links
		},
		"record": func() any {
			if d := b.record("linked", `"amount":55`).Approval; d == nil || d.By != "link:#ops" ||
				d.Auth != api.AuthLink {
				t.Errorf("the record has the approval %+v", d)
			}
			return nil
		},
	})
}

// Open pages say that the gateway or Temporal is away, and recover by themselves. A session
// outlives a restart of the gateway.
func TestConsole_PagesRecoverInABrowser(t *testing.T) {
	inFull(t)
	database := filepath.Join(t.TempDir(), "server.db")
	b := newBrowserLab(t, "--db-filename", database)
	b.workerIn(nil, "--tools", consoleTools)
	one, console := b.console("127.0.0.1:0")
	_, second := b.console("127.0.0.1:0")
	host := strings.TrimSuffix(strings.TrimPrefix(console, "http://"), "/console/")
	c := b.dial()
	ask := func(id string, amount int) {
		b.calling(c, id, "refund", map[string]any{"to": "ada", "amount": amount})
	}
	ask("waits", 101)
	b.browse("faults", map[string]any{"console": console, "second": second},
		browserSteps{
			"kill gateway": func() any { one.Kill(); return nil },
			"start gateway": func() any {
				one, _ = b.console(host)
				return nil
			},
			"call":        func() any { ask("later", 102); return nil },
			"kill server": func() any { b.Server.Kill(); return nil },
			"start server": func() any {
				b.restartServer(database)
				return nil
			},
			"freeze server": func() any { return syscall.Kill(b.PID(), syscall.SIGSTOP) },
			"thaw server":   func() any { return syscall.Kill(b.PID(), syscall.SIGCONT) },
		})
}
