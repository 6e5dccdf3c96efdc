package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestParseArguments proves how what stands behind a tool's name becomes JSON, and what is refused.
func TestParseArguments(t *testing.T) {
	for _, c := range []struct {
		name, stdin string
		args        []string
		want, fault string
	}{
		{name: "none", want: `{}`},
		{name: "values are JSON or text", args: []string{"n=3", "s=Ada", "b=true", "l=[1,2]", `q="3"`, "e=", "half={"},
			want: `{"b":true,"e":"","half":"{","l":[1,2],"n":3,"q":"3","s":"Ada"}`},
		{name: "a text is one whatever it looks like", args: []string{"zip=01234", "n=1", "zip2=3"}, want: `{"n":1,"zip":"01234","zip2":3}`},
		{name: "a text in quotes", args: []string{`zip="3"`}, want: `{"zip":"3"}`},
		{name: "a value may hold =", args: []string{"expression=a==b"}, want: `{"expression":"a==b"}`},
		{name: "big numbers keep their digits", args: []string{"n=12345678901234567890"}, want: `{"n":12345678901234567890}`},
		{name: "an object", args: []string{` {"n": 1.50} `}, want: `{"n": 1.50}`},
		{name: "standard input", args: []string{"-"}, stdin: "{\"n\": 1}\n", want: `{"n": 1}`},
		{name: "no pair", args: []string{"text"}, fault: "is not name=value"},
		{name: "no name", args: []string{"=text"}, fault: "is not name=value"},
		{name: "twice", args: []string{"a=1", "a=1"}, fault: "given twice"},
		{name: "two objects", args: []string{"{}", "{}"}, fault: "is not name=value"},
		{name: "too much", args: []string{"-"}, stdin: strings.Repeat(" ", maxInput+1), fault: "too large: at most 2,093,056 bytes"},
		{name: "a list", args: []string{"-"}, stdin: "[]", fault: "not a JSON object"},
		{name: "nothing on standard input", args: []string{"-"}, fault: "not JSON"},
	} {
		got, err := parseArguments(c.args, strings.NewReader(c.stdin), func(name string) bool { return name == "zip" })
		switch {
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.fault)
		case c.fault == "" && (err != nil || got != c.want):
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// TestExitCodes proves which exit code each kind of error gives, by its type, however deep it is wrapped.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
		says string
	}{
		{nil, exitDone, ""},
		{failure(exitUsage, "wrong"), exitUsage, "wrong"},
		{exitWith(exitCancelled), exitCancelled, ""},
		{toolspecs.Faults{{File: "a.yaml", Line: 1, Column: 2, Message: "no"}}, exitUsage, "a.yaml:1:2: no"},
		{fmt.Errorf("load: %w", toolspecs.Faults{{File: "a.yaml", Message: "no"}}), exitUsage, "a.yaml: no"},
		{context.Canceled, exitCancelled, "interrupted"},
		{context.DeadlineExceeded, exitNoServer, "starter dev"},
		{serviceerror.NewUnavailable("down"), exitNoServer, "starter dev"},
		{status.Error(codes.Unavailable, "down"), exitNoServer, "starter dev"},
		{fmt.Errorf("dial: %w", serviceerror.NewDeadlineExceeded("late")), exitNoServer, "starter dev"},
		{serviceerror.NewPermissionDenied("no", "no"), exitNoServer, "--api-key"},
		{serviceerror.NewNamespaceNotFound("nix"), exitUsage, `no namespace "nix"`},
		{serviceerror.NewNotFound("gone"), exitFailed, "starter list"},
		{serviceerror.NewInvalidArgument("odd"), exitFailed, "odd"},
		{errors.New("anything"), exitFailed, "anything"},
	} {
		var stderr strings.Builder
		a := &app{Stdio: Stdio{Err: &stderr}}
		if got := a.report(c.err); got != c.want || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%v: exit code %d with %q, want %d with %q", c.err, got, stderr.String(), c.want, c.says)
		}
	}
}

// TestLookupErrors proves that a run that cannot be read is told apart from a connection that is lost.
func TestLookupErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
		says string
	}{
		{fmt.Errorf("read: %w", audit.ErrNotFound), exitFailed, `no run "x"`},
		{serviceerror.NewNotFound("gone"), exitFailed, `no run "x"`},
		{history.ErrNotARun, exitFailed, "not a run of Switchyard"},
		{serviceerror.NewUnavailable("down"), exitNoServer, "starter watch x"},
	} {
		var stderr strings.Builder
		a := &app{Stdio: Stdio{Err: &stderr}}
		if got := a.report(a.lookupError("x", "", c.err)); got != c.want || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%v: exit code %d with %q, want %d with %q", c.err, got, stderr.String(), c.want, c.says)
		}
	}
}

// TestBrief proves that durations keep about three digits, whatever their size.
func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 340 * time.Microsecond: "340µs", 12_345 * time.Microsecond: "12ms", 1250 * time.Millisecond: "1.25s",
		42_440 * time.Millisecond: "42.4s", 125 * time.Second: "2m05s", 187 * time.Minute: "3h07m",
	} {
		if got := brief(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}

// TestWhen proves both forms of a time in a table.
func TestWhen(t *testing.T) {
	relative, iso := formatFlags{time: timeRelative}, formatFlags{time: timeISO}
	for ago, want := range map[time.Duration]string{0: "now", 5 * time.Second: "5s ago", 61 * time.Second: "1m ago", 47 * time.Hour: "47h ago",
		49 * time.Hour: "2d ago"} {
		if got := relative.when(noon.Add(-ago), noon); got != want {
			t.Errorf("%s: %q, want %q", ago, got, want)
		}
	}
	if got := iso.when(noon, noon); got != noon.Local().Format(time.RFC3339) {
		t.Errorf("iso: %q", got)
	}
	if got := iso.when(time.Time{}, noon); got != "" {
		t.Errorf("an unknown time: %q", got)
	}
}

// TestTable proves that columns line up, coloured cells too, and that no line ends in spaces.
func TestTable(t *testing.T) {
	tab := table{header: []string{"name", "n", "note"}, right: map[int]bool{1: true}}
	p := palette{on: true}
	tab.add(p.good("ok"), "1", "")
	tab.add("longer", "1,000", "x")
	want := p.bold("name") + "        " + p.bold("n") + "  " + p.bold("note") + "\n" + p.good("ok") + "          1\n" + "longer  1,000  x\n"
	if got := tab.text(p); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

// TestRunURL proves where a link to a run leads: to the address given, or to the default one beside a local server.
func TestRunURL(t *testing.T) {
	t.Setenv(uiVariable, "")
	for _, c := range []struct {
		flags connectionFlags
		want  string
	}{
		{connectionFlags{resolvedAddress: "127.0.0.1:7233"}, "http://127.0.0.1:8233/namespaces/default/workflows/a%2Fb/r/history"},
		{connectionFlags{resolvedAddress: "localhost:7233"}, "http://127.0.0.1:8233/namespaces/default/workflows/a%2Fb/r/history"},
		{connectionFlags{resolvedAddress: "localhost:9999"}, ""},
		{connectionFlags{resolvedAddress: "temporal.example:7233"}, ""},
		{connectionFlags{resolvedAddress: "127.0.0.1:7233", local: true}, ""},
		{connectionFlags{resolvedAddress: "x:1", ui: "http://ui.example/"}, "http://ui.example/namespaces/default/workflows/a%2Fb/r/history"},
	} {
		c.flags.resolvedNamespace = "default"
		if got := c.flags.runURL("a/b", "r"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.flags, got, c.want)
		}
	}
}

// TestStart proves what is made of the flags of a run, and that its summary fits what the server takes.
func TestStart(t *testing.T) {
	flags := startFlags{variables: []string{"n=3", "s=x"}, caller: "ada", queue: "q"}
	s, err := flags.newStart((&app{}).rootCommand(), api.CallerAgent, api.AgentWorkflow, "librarian")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.id, "librarian-") || len(s.id) != len("librarian-")+8 {
		t.Errorf("id %q", s.id)
	}
	if v := s.input.Variables; fmt.Sprint(v["n"]) != "3" || v["s"] != "x" || s.input.Caller.ID != "ada" {
		t.Errorf("input %+v", s.input)
	}
	s.prompt = strings.Repeat("ü😀", 500)
	if got := s.summary(); len(got) > 400 || !strings.HasPrefix(got, "agent librarian: ü😀") {
		t.Errorf("summary of %d bytes: %q", len(got), got)
	}
	s.input.Prompt = strings.Repeat("x", maxInput)
	if err := s.checkSize(); err == nil {
		t.Error("an input that the server refuses was accepted")
	}
}

// TestJudge proves when doctor takes a call for slow.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		wall, wait time.Duration
		want       mark
	}{
		{14 * time.Millisecond, time.Millisecond, markGood},
		{50 * time.Millisecond, 45 * time.Millisecond, markWarn},
		{400 * time.Millisecond, time.Millisecond, markWarn},
	} {
		if got := evaluate(c.wall, c.wait); got.Mark != c.want || c.want == markWarn && got.Remedy == "" {
			t.Errorf("%s, %s: %+v, want %s", c.wall, c.wait, got, c.want)
		}
	}
	if major, minor := versionOf("1.29.1"); major != 1 || minor != 29 {
		t.Errorf("version %d.%d", major, minor)
	}
	if major, _ := versionOf("odd"); major != 0 {
		t.Errorf("a version that is none has major %d", major)
	}
}

// TestRank proves what the server is told of a run's priority: what the run's flags say, and nothing more.
func TestRank(t *testing.T) {
	for _, c := range []struct {
		priority     api.Priority
		conversation string
		want         temporal.Priority
	}{
		{"", "", temporal.Priority{}},
		{api.PriorityUrgent, "talk", temporal.Priority{PriorityKey: 1, FairnessKey: "talk"}},
		{api.PriorityNormal, "", temporal.Priority{PriorityKey: 3}},
		{"", strings.Repeat("x", 65), temporal.Priority{FairnessKey: api.Digest([]byte(strings.Repeat("x", 65)))}},
	} {
		s := start{input: api.RunInput{Priority: c.priority, Conversation: c.conversation}}
		if got := s.rank(); got != c.want {
			t.Errorf("priority %q in conversation %.10q: %+v, want %+v", c.priority, c.conversation, got, c.want)
		}
	}
}
