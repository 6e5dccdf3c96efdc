package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

func contains(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// output collects the output of a worker; it may be read while the worker writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// quietEnvironment hides the machine's own Temporal configuration from a test.
func quietEnvironment(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "TEMPORAL_") {
			t.Setenv(name, "")
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
}

// closedPort returns an address without a server.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// runMain runs a worker program's main function to its end.
func runMain(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs output
	code = main(ctx, Config{}, args, &out, &errs)
	if ctx.Err() != nil {
		t.Fatalf("the worker did not end; it printed %s", errs.String())
	}
	return code, out.String(), errs.String()
}

func TestConfig_FillsInDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	if c.Connection.HostPort != client.DefaultHostPort ||
		c.Connection.Namespace != client.DefaultNamespace || c.TaskQueue != api.DefaultTaskQueue ||
		c.Concurrency != 100 || c.StopTimeout != 30*time.Second ||
		c.ReloadInterval != 5*time.Second ||
		c.Connection.Identity == "" || c.Logger == nil {
		t.Errorf("got %+v", c)
	}
	if err := c.validate(); err != nil {
		t.Error(err)
	}
	set := Config{Connection: client.Options{HostPort: "h:1", Namespace: "n"}, TaskQueue: "q",
		Lanes: []string{"gpu"}, Concurrency: 3, StopTimeout: time.Second}
	got := set.withDefaults()
	if got.Connection.HostPort != "h:1" || got.Connection.Namespace != "n" ||
		got.TaskQueue != "q" || got.Lanes[0] != "gpu" || got.Concurrency != 3 ||
		got.StopTimeout != time.Second {
		t.Errorf("got %+v", got)
	}
}

func TestConfig_ReportsEveryFaultWithFieldAndBound(t *testing.T) {
	cases := []struct {
		name string
		c    Config
		want string
	}{
		{"concurrency", Config{Concurrency: -2}, "Config.Concurrency is -2; it must be at least 1"},
		{"stop timeout", Config{StopTimeout: -time.Second}, "Config.StopTimeout is -1s; it cannot be negative"},
		{"reload interval", Config{ReloadInterval: time.Millisecond},
			"Config.ReloadInterval is 1ms; it must be at least 10ms"},
		{"mode", Config{Mode: "loose"}, `Config.Mode is "loose"; it must be strict or lenient`},
		{"webhook", Config{Webhook: activities.Webhook{URL: "ftp://x", Secret: "planted"}},
			"approval webhook: --approval-webhook: the URL must begin with http:// or https://; write a URL such as https://chat.example.com/hook, or env:NAME\n--approval-webhook-secret: this is not a reference to a secret; write env:NAME or file:/path: the name of the secret, never its value"},
		{"webhook without a secret", Config{Webhook: activities.Webhook{URL: "https://x"}},
			"approval webhook: --approval-webhook-secret is missing: it names what signs the requests; write env:NAME or file:/path: the name of the secret, never its value"},
		{"webhook's secret is not there", Config{Webhook: activities.Webhook{
			URL: "env:NOT_SET_URL", Secret: "env:NOT_SET_SECRET"}},
			"approval webhook: --approval-webhook: the secret env:NOT_SET_URL is not set\n--approval-webhook-secret: the secret env:NOT_SET_SECRET is not set"},
		{"secret without a webhook", Config{Webhook: activities.Webhook{Secret: "env:X"}},
			"approval webhook: --approval-webhook-secret is given and --approval-webhook is not: name the URL, too"},
		{"lane", Config{Lanes: []string{"general", "a/b"}}, `Config.Lanes[1]: "a/b" is not a valid lane name: use 1 to 64 letters, digits, _ and -`},
		{"empty lane", Config{Lanes: []string{""}}, `Config.Lanes[0]: "" is not a valid lane name: use 1 to 64 letters, digits, _ and -`},
		{"lane twice", Config{Lanes: []string{"a", "b", "a"}},
			`Config.Lanes[2]: lane "a" is named twice`},
		{"several", Config{Concurrency: -1, Mode: "x"}, "Config.Concurrency is -1; it must be at least 1\nConfig.Mode is \"x\"; it must be strict or lenient"},
	}
	for _, c := range cases {
		if err := c.c.withDefaults().validate(); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v", c.name, err)
		}
		if err := Run(t.Context(), c.c); err == nil || exitCode(err) != exitUsage {
			t.Errorf("%s: a worker started, or ended with another code: %v", c.name, err)
		}
	}
}

func TestMain_ExitsWith2OnInvalidUsage(t *testing.T) {
	quietEnvironment(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "bad.yaml"),
		[]byte("name: probe\nversion: 1.0.0\ndescribes: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		args []string
		want []string
	}{
		{"unknown flag", []string{"--nope"}, []string{"there is no flag --nope", "--help"}},
		{"no number", []string{"--concurrency", "many"}, []string{"concurrency", "many"}},
		{"argument", []string{"serve"}, []string{`"serve"`, "--help"}},
		{"log format", []string{"--log-format", "xml"}, []string{`--log-format "xml"`,
			"text or json"}},
		{"log level", []string{"--log-level", "loud"}, []string{`--log-level "loud"`,
			"debug, info, warn or error"}},
		{"lane", []string{"--lanes", "general,a b"}, []string{`"a b"`}},
		{"lane twice", []string{"--lanes", "serial, serial"}, []string{"named twice"}},
		{"concurrency", []string{"--concurrency", "-1"}, []string{"Concurrency is -1"}},
		{"stop timeout", []string{"--stop-timeout", "-1s"}, []string{"StopTimeout is -1s"}},
		{"reload interval", []string{"--reload-interval", "-1s"},
			[]string{"ReloadInterval is -1s"}},
		{"no folder", []string{"--tools", filepath.Join(folder, "none")},
			[]string{"none", "no such file"}},
		{"bad toolspec", []string{"--tools", folder}, []string{"bad.yaml:3", "describes",
			"description"}},
		{"no table of models", []string{"--models-file", filepath.Join(folder, "none.yaml")},
			[]string{"none.yaml", "no such file"}},
		{"bad table of models", []string{"--models-file", filepath.Join(folder, "bad.yaml")},
			[]string{"bad.yaml:1:1", `unknown field "name"`, "as_of is missing"}},
		{"payload store", []string{"--payload-store", "s4://bucket"}, []string{"--payload-store",
			"s3://bucket"}},
		{"payload keys", []string{"--payload-keys", filepath.Join(folder, "bad.yaml")},
			[]string{"bad.yaml:1:1", `unknown field "name"`, "active is missing"}},
		{"profile", []string{"--profile", "missing"}, []string{"--profile missing: the profiles " +
			"file"}},
		{"address", []string{"--address", "nonsense"}, []string{`"nonsense" is not host:port`}},
		{"CA", []string{"--tls-ca-path", "none.pem"}, []string{"--tls-ca-path none.pem: the " +
			"file does not exist"}},
		{"TLS", []string{"--tls=perhaps"}, []string{`--tls "perhaps": use true or false`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if code, stdout, stderr := runMain(t, c.args...); code != exitUsage || !contains(stderr,
				c.want...) || stdout != "" {
				t.Errorf("exit %d, stdout %q, stderr:\n%s", code, stdout, stderr)
			}
		})
	}
	if code, _, stderr := runMain(t, "--help"); code != exitOK || !contains(stderr, "Usage",
		"--tools", `(default "info")`, "Examples") {
		t.Errorf("--help: exit %d:\n%s", code, stderr)
	}
}

func TestMain_ExitsWith4WithoutServer(t *testing.T) {
	quietEnvironment(t)
	address := closedPort(t)
	began := time.Now()
	code, stdout, stderr := runMain(t, "--address", address, "--metrics-address", "127.0.0.1:0")
	if code != exitConnect || !contains(stderr, address) || stdout != "" ||
		time.Since(began) > time.Minute {
		t.Errorf("exit %d after %v: %s", code, time.Since(began), stderr)
	}
}

func TestMain_StopsQuietlyWhileConnecting(t *testing.T) {
	quietEnvironment(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out output
	if code := main(ctx, Config{}, []string{"--address", listener.Addr().String()}, &out,
		&out); code != exitOK {
		t.Errorf("exit %d: %s", code, out.String())
	}
	began := time.Now()
	if code, _, stderr := runMain(t, "--address", listener.Addr().String(), "--parent-pid",
		"1073741823"); code != exitOK || time.Since(began) > 30*time.Second {
		t.Errorf("exit %d after %v: %s", code, time.Since(began), stderr)
	}
}

func TestEndWithParent_EndsWhenTheParentExits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended, returned := make(chan struct{}), make(chan struct{})
	go func() {
		endWithParent(ctx, os.Getppid(), func() { close(ended) })
		close(returned)
	}()
	cancel()
	<-returned
	select {
	case <-ended:
		t.Error("the worker was ended though its parent lives")
	default:
	}
	endWithParent(t.Context(), os.Getppid()+1, func() { close(ended) })
	<-ended
}

func TestMain_FailsIfTheMetricsAddressIsTaken(t *testing.T) {
	quietEnvironment(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	code, _, stderr := runMain(t, "--address", closedPort(t), "--metrics-address",
		listener.Addr().String())
	if code == exitOK || !contains(stderr, listener.Addr().String(), "--metrics-address") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

type namedConverter struct{ converter.DataConverter }

func TestFlags_OverrideEnvironmentAndConfig(t *testing.T) {
	quietEnvironment(t)
	t.Setenv("TEMPORAL_ADDRESS", "env:1")
	t.Setenv("TEMPORAL_NAMESPACE", "env-namespace")
	t.Setenv("SWITCHYARD_PAYLOAD_STORE", "file:///env")
	own := Config{TaskQueue: "own-queue", Tools: "own-tools", Lanes: []string{"own"},
		Concurrency: 7, Mode: api.ModeStrict,
		Payloads: payloads.Config{Store: "file:///own",
			Keys: "own.yaml"}, Connection: client.Options{HostPort: "own:1", Identity: "me",
			DataConverter: namedConverter{}}, Logger: slog.New(slog.DiscardHandler)}
	apply := func(args ...string) Config {
		t.Helper()
		f := flags{Config: own}
		if err := f.parse(args, io.Discard); err != nil {
			t.Fatal(err)
		}
		c, err := f.configure(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := apply()
	if c.TaskQueue != "own-queue" || c.Tools != "own-tools" || c.Lanes[0] != "own" ||
		c.Concurrency != 7 || c.Connection.Identity != "me" || c.Logger != own.Logger ||
		c.Connection.DataConverter != own.Connection.DataConverter ||
		c.Connection.HostPort != "env:1" || c.Connection.Namespace != "env-namespace" {
		t.Errorf("got %+v", c)
	}
	if want := (payloads.Config{Store: "file:///env", Keys: "own.yaml",
		Compression: "none"}); apply("--payload-compression", "none").Payloads != want {
		t.Errorf("payloads are stored as %+v", apply("--payload-compression", "none").Payloads)
	}
	c = apply("--address", "flag:1", "--namespace", "fn", "--task-queue", "fq", "--lanes", "a, b",
		"--tools", "ft", "--dir", "fd", "--concurrency", "9", "--instances", "8",
		"--lenient", "--stop-timeout", "3s", "--metrics-address", ":0", "--approval-webhook",
		"https://x", "--approval-webhook-secret", "env:X")
	if c.Connection.HostPort != "flag:1" || c.Connection.Namespace != "fn" || c.TaskQueue != "fq" ||
		strings.Join(c.Lanes, "|") != "a|b" || c.Tools != "ft" ||
		c.Dir != "fd" || c.Concurrency != 9 || c.Instances != 8 || c.Mode != api.ModeLenient ||
		c.StopTimeout != 3*time.Second || c.MetricsAddress != ":0" ||
		c.Webhook != (activities.Webhook{URL: "https://x", Secret: "env:X"}) {
		t.Errorf("got %+v", c)
	}
	if c := apply("--reload=false"); !c.NoReload || c.withDefaults().ReloadInterval >= 0 {
		t.Error("--reload=false follows edits")
	}
	own.Logger = nil
	if c = apply("--log-level", "error"); c.Logger.Enabled(t.Context(), slog.LevelWarn) ||
		!c.Logger.Enabled(t.Context(), slog.LevelError) {
		t.Error("--log-level error logs warnings, or no errors")
	}
	if _, isJSON := apply("--log-format", "json").Logger.Handler().(*slog.JSONHandler); !isJSON {
		t.Error("--log-format json does not log JSON")
	}
	if err := new(flags).parse([]string{"-h"}, io.Discard); !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("got %v", err)
	}
}

func TestFlags_ExplainInvalidCommandLines(t *testing.T) {
	for args, want := range map[string]string{
		"--tools x --bogus":  "there is no flag --bogus",
		"--concurrency many": `--concurrency "many": write a whole number`,
		"--tls=perhaps":      `--tls "perhaps": use true or false`,
		"--tools":            "--tools needs a value: --tools folder",
		"extra":              `unexpected argument "extra"`,
	} {
		var stderr strings.Builder
		err := new(flags).parse(strings.Fields(args), &stderr)
		if got := stderr.String(); !errors.Is(err, errUsage) || !strings.HasPrefix(got,
			"worker: "+want) || !strings.HasSuffix(got, " --help\n") || strings.Count(got,
			"\n") != 1 {
			t.Errorf("%s: %v, %s", args, err, got)
		}
	}
}

func probeSpec(parameter, handler string) toolspecs.Spec {
	return toolspecs.Spec{Name: "probe", Version: "1.0.0", Description: "Probes.",
		Entry:      toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: handler}},
		Parameters: []toolspecs.Parameter{{Name: parameter, Type: "string", Required: true}}}
}

type probeInput struct {
	Path string `json:"path"`
}

func probe(context.Context, probeInput) (string, error) { return "", nil }

func TestCatalog_RejectsToolsThatDoNotMatchTheirFunction(t *testing.T) {
	fits := tool.NewFunction("probe", probe)
	cases := []struct {
		name string
		c    Config
		want string
	}{
		{"no function", Config{Specs: []toolspecs.Spec{probeSpec("path", "")}},
			`tool probe: no function "probe" is registered; register one with tool.NewFunction`},
		{"no function of that name", Config{Specs: []toolspecs.Spec{probeSpec("path", "reader")},
			Functions: []tool.Function{fits}}, `tool probe: no function "reader" is registered; register one with tool.NewFunction`},
		{"another parameter", Config{Specs: []toolspecs.Spec{probeSpec("file", "")},
			Functions: []tool.Function{fits}}, "tool probe: parameter \"file\" is declared as string, but function \"probe\" takes no argument of that name; it takes path\ntool probe: function \"probe\" takes \"path\" (string), but no parameter of that name is declared; declare it, or make the field a pointer or omitzero"},
		{"functions of one name", Config{Functions: []tool.Function{fits, fits}},
			`function "probe": another function has this name too`},
		{"specs of one name", Config{Specs: []toolspecs.Spec{probeSpec("path", ""),
			probeSpec("file", "")}, Functions: []tool.Function{fits}}, `toolspec "probe": there is another tool of this name (rename or remove one of them)`},
	}
	for _, c := range cases {
		if err := Run(t.Context(), c.c); err == nil || err.Error() != c.want ||
			exitCode(err) != exitUsage {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestCatalog_MergesConfigAndFolder(t *testing.T) {
	folder := t.TempDir()
	yaml := "name: lister\nversion: 1.0.0\ndescription: Lists.\nentry:\n  type: command\n  argv: " +
		"[ls]\nexecution:\n  lane: gpu\n"
	if err := os.WriteFile(filepath.Join(folder, "lister.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{Specs: []toolspecs.Spec{probeSpec("path", "")},
		Functions: []tool.Function{tool.NewFunction("probe", probe)}, Tools: folder,
		Lanes: []string{"gpu"}, Mode: api.ModeLenient}
	_, watcher, err := c.withDefaults().prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	catalog := watcher.Catalog()
	if names := strings.Join(listToolNames(catalog), ","); names != "lister,probe" {
		t.Errorf("got %s", names)
	}
	for _, compiled := range catalog.All() {
		if compiled.Spec.Execution.Arguments != api.ModeLenient {
			t.Errorf("%s reads arguments %q", compiled.Spec.Name, compiled.Spec.Execution.Arguments)
		}
	}
	if c.Specs[0].Execution.Arguments != "" {
		t.Error("the application's spec was changed")
	}
	c.Specs = append(c.Specs, toolspecs.Spec{Name: "lister", Version: "2.0.0",
		Description: "Lists.",
		Entry:       toolspecs.Entry{Kind: toolspecs.CommandEntry{Argv: []string{"ls"}}}})
	if _, _, err := c.withDefaults().prepare(); err == nil || !contains(err.Error(), "lister") {
		t.Errorf("got %v", err)
	}
}

func TestInfo_IsOneLineOfJSON(t *testing.T) {
	data, err := json.Marshal(Info{Namespace: "default", TaskQueue: "switchyard",
		Lanes: []string{"general"}, Tools: []string{"echo"}})
	if want := `{"namespace":"default","task_queue":"switchyard","lanes":["general"],"tools":["echo"]}`; err != nil ||
		string(data) != want {
		t.Errorf("got %s, %v", data, err)
	}
}
